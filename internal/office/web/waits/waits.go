package waits

import (
	"cmp"
	"net/url"
	"slices"
	"time"

	"pennypost/internal/base/wording"
	"pennypost/internal/mail"
	"pennypost/internal/office/web/page"
	"pennypost/internal/office/web/words"
)

// LongWait is after how much time a question that was seen and not answered is stuck: most turns end before, and
// whoever waits longer should not do so unnoticed.
const LongWait = 30 * time.Minute

// Link is that somebody waits for somebody: their open question that is the oldest.
type Link struct {
	*page.View
	mail.Waiting
	More int // open questions that one has asked the other since
}

// pairKey is who waits, and for whom: an agent, or the address of nobody in particular.
type pairKey struct{ asker, to string }

func keyOf(w *mail.Waiting) pairKey { return pairKey{string(w.Asker), words.Who(waitsFor(w))} }

// waitsFor is whom a question waits for: the agent whom it reached, or else where it went.
func waitsFor(w *mail.Waiting) mail.Address {
	if w.Asked != "" {
		return mail.AgentAddress(w.Asked)
	}
	return w.Address
}

// To is whom it waits for.
func (l Link) To() mail.Address { return waitsFor(&l.Waiting) }

// From is who waits.
func (l Link) From() mail.Address { return mail.AgentAddress(l.Asker) }

// FromHref is the page of who waits.
func (l Link) FromHref() string { return nameHref(l.View, l.Asker) }

// ToHref is the page of whoever is waited for.
func (l Link) ToHref() string {
	switch {
	case l.Asked != "":
		return nameHref(l.View, l.Asked)
	case l.Address.Kind() == mail.FromFar, page.Elsewhere(l.Address):
		return page.Query(l.Base+"/history", "to", string(l.Address))
	}
	return l.ChannelHref(l.Address)
}

// nameHref is the page of an agent, or the inbox.
func nameHref(v *page.View, n mail.Name) string {
	if n == mail.User {
		return v.Base + "/"
	}
	return v.AgentHref(n)
}

// Href is the question: where it can be answered, if it waits for the user.
func (l Link) Href() string {
	if l.Asked == mail.User {
		return l.LetterHref(l.Question)
	}
	return l.Base + page.ThreadPath(l.Question) + "#m-" + string(l.Question)
}

// Key names the link among all, and stays the same from one look to the next.
func (l Link) Key() string { return string(l.Question) + "-" + url.PathEscape(words.Who(l.To())) }

// About is what was asked.
func (l Link) About() string { return cmp.Or(l.Subject, string(l.Type)) }

// Long says for how long it has waited.
func (l Link) Long() string {
	return words.Lasting(max(l.Now.Sub(l.Since.Std()), 0).Truncate(time.Minute))
}

// Late reports whether that is longer than one waits for an answer.
func (l Link) Late() bool { return l.Now.Sub(l.Since.Std()) >= LongWait }

// Whom is for whom it waits, as the user reads it.
func (l Link) Whom() string {
	if l.Asked == mail.User {
		return "you"
	}
	return words.Who(l.To())
}

// Asks is the dialog of its client at which whoever is waited for stands; nil if it stands at none.
func (l Link) Asks() *mail.Card { return l.CardOf(l.Asked) }

// Title is the link in words.
func (l Link) Title() string {
	text := words.Who(l.From()) + " waits for " + words.Who(l.To()) + " since " + words.Moment(l.Now, l.Since) + ": " +
		l.About()
	if l.More > 0 {
		text += ", and " + wording.Plural(l.More, "more question")
	}
	return text
}

// Chain is who waits for whom, and for whom these wait: a chain, or a circle and perhaps a chain that leads there.
type Chain struct {
	Lead   []Link
	Circle []Link    // the last of them leads back to where the first begins
	Since  mail.Time // the longest wait in it
	AsOf   mail.Time // of a room that is closed: so it stood then; 0: now
}

// View is that of the room in which it is.
func (c Chain) View() *page.View {
	if len(c.Lead) > 0 {
		return c.Lead[0].View
	}
	return c.Circle[0].View
}

// Ends is who waits for nobody; nothing if the chain ends in a circle.
func (c Chain) Ends() []Link {
	if len(c.Circle) > 0 {
		return nil
	}
	return c.Lead[len(c.Lead)-1:]
}

// Round is the circle but for its last link, which is drawn back to its beginning.
func (c Chain) Round() []Link { return c.Circle[:len(c.Circle)-1] }

// Back is that last link.
func (c Chain) Back() Link { return c.Circle[len(c.Circle)-1] }

// LinksOf gathers open questions, the oldest first, by who waits for whom.
func LinksOf(v *page.View, list []mail.Waiting) []Link {
	at := make(map[pairKey]int)
	var out []Link
	for i := range list {
		key := keyOf(&list[i])
		if n, ok := at[key]; ok {
			out[n].More++
			continue
		}
		at[key] = len(out)
		out = append(out, Link{View: v, Waiting: list[i]})
	}
	return out
}

// ChainsOf draws links as few chains in which each is at least once, the one with the longest wait first.
func ChainsOf(links []Link) []Chain {
	by := make(map[pairKey]Link)
	open := make(map[string]Link) // to nobody in particular, by who waits
	for _, l := range links {
		by[keyOf(&l.Waiting)] = l
		if _, ok := open[string(l.Asker)]; !ok && l.Asked == "" {
			open[string(l.Asker)] = l
		}
	}
	drawn := make(map[pairKey]bool)
	var out []Chain
	byLength := slices.Clone(links)
	slices.SortStableFunc(byLength, func(a, b Link) int { return len(b.Chain) - len(a.Chain) })
	for _, l := range byLength {
		if drawn[keyOf(&l.Waiting)] {
			continue
		}
		c := l.chain(by, open)
		for _, l := range slices.Concat(c.Lead, c.Circle) {
			drawn[keyOf(&l.Waiting)] = true
			if c.Since == 0 || l.Since < c.Since {
				c.Since = l.Since
			}
		}
		out = append(out, c)
	}
	slices.SortStableFunc(out, func(a, b Chain) int { return cmp.Compare(a.Since, b.Since) })
	return out
}

// chain is the chain that begins with a link. It ends early if the list of links was cut.
func (l Link) chain(by map[pairKey]Link, open map[string]Link) Chain {
	if l.Asked == "" {
		return Chain{Lead: []Link{l}}
	}
	names, circle := l.Chain, l.Waiting.Circle
	var links []Link
	for i := 1; i < len(names); i++ {
		next, ok := by[pairKey{string(names[i-1]), string(names[i])}]
		if !ok {
			return Chain{Lead: links}
		}
		links = append(links, next)
	}
	last := names[len(names)-1]
	if begins := slices.Index(names, last); circle {
		return Chain{Lead: links[:begins], Circle: links[begins:]}
	}
	if further, ok := open[string(last)]; ok {
		links = append(links, further)
	}
	return Chain{Lead: links}
}

// In returns who waits for whom in the room, the longest first, and how many others there are.
func In(v *page.View) (links []Link, rest int, err error) {
	list, err := v.Svc.Waiting(v.Ctx(), mail.WaitingQuery{Limit: mail.MaxLimit})
	return LinksOf(v, list.Waiting), list.Rest, err
}

// InRoom is who waits for whom in one room of several.
type InRoom struct {
	Room  mail.RoomName
	AsOf  mail.Time // of a room that is closed: so it stood then; 0: now
	Links []Link
}

// Chains are those of the room.
func (r InRoom) Chains() []Chain {
	out := ChainsOf(r.Links)
	for i := range out {
		out[i].AsOf = r.AsOf
	}
	return out
}

// Shown returns who waits for whom in the rooms that the page shows, how many others there are, and of which rooms
// that is not known.
func Shown(v *page.View) (rooms []InRoom, rest int, missing page.Missing, err error) {
	if !v.Several() {
		links, rest, err := In(v)
		return []InRoom{{Room: v.Room, Links: links}}, rest, missing, err
	}
	fleet, err := v.Site.Office.Fleet(v.Ctx(), mail.FleetQuery{Part: mail.FleetWaiting, Limit: mail.MaxLimit})
	for i := range fleet.Rooms {
		r := &fleet.Rooms[i]
		rooms = append(rooms, InRoom{r.Room, r.AsOf, LinksOf(v.In(r.Room, nil), r.Waiting.Waiting)})
		rest += r.Waiting.Rest
	}
	return rooms, rest, page.Missing{NotRead: fleet.NotRead, Away: fleet.Away}, err
}

// ChainsIn are the chains of several rooms, the one with the longest wait first.
func ChainsIn(rooms []InRoom) []Chain {
	var out []Chain
	for _, r := range rooms {
		out = append(out, r.Chains()...)
	}
	slices.SortStableFunc(out, func(a, b Chain) int { return cmp.Compare(a.Since, b.Since) })
	return out
}

// OfAgent is an agent among those who wait.
type OfAgent struct {
	For []Link // for whom it waits, the longest first
	By  []Link // who waits for it
}

// MoreFor is for how many others it waits.
func (w OfAgent) MoreFor() int { return len(w.For) - 1 }

// ByAgent says of everybody who waits for whom.
func ByAgent(links []Link) map[mail.Name]OfAgent {
	out := make(map[mail.Name]OfAgent)
	for _, l := range links {
		w := out[l.Asker]
		w.For = append(w.For, l)
		out[l.Asker] = w
		if l.Asked != "" {
			w = out[l.Asked]
			w.By = append(w.By, l)
			out[l.Asked] = w
		}
	}
	return out
}

// Remindable reports whether whoever is asked can be reminded: the user needs no mail for that.
func (l Link) Remindable() bool { return l.Asked != "" && l.Asked != mail.User }

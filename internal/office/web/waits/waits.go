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

// LongWait is when a question that was seen but not answered is stuck: most turns are shorter, and no longer wait
// should go unnoticed.
const LongWait = 30 * time.Minute

// Link is the oldest open question of one agent to another, or to the user.
type Link struct {
	*page.View
	mail.Waiting
	More int // newer open questions from the same asker to the same recipient
}

// pairKey is the asker, and the agent or address asked.
type pairKey struct{ asker, to string }

func keyOf(w *mail.Waiting) pairKey { return pairKey{string(w.Asker), words.Who(waitsFor(w))} }

// waitsFor is the recipient of a question: the agent that it reached, or else its address.
func waitsFor(w *mail.Waiting) mail.Address {
	if w.Asked != "" {
		return mail.AgentAddress(w.Asked)
	}
	return w.Address
}

// To is the one waited for.
func (l Link) To() mail.Address { return waitsFor(&l.Waiting) }

// From is the agent that waits.
func (l Link) From() mail.Address { return mail.AgentAddress(l.Asker) }

// FromHref is the page of the agent that waits.
func (l Link) FromHref() string { return nameHref(l.View, l.Asker) }

// ToHref is the page of the one waited for.
func (l Link) ToHref() string {
	switch {
	case l.Asked != "":
		return nameHref(l.View, l.Asked)
	case l.Address.Kind() == mail.FromFar, page.Elsewhere(l.Address):
		return page.Query(l.Base+"/history", "to", string(l.Address))
	}
	return l.ChannelHref(l.Address)
}

// nameHref is the page of an agent, or the inbox for the user.
func nameHref(v *page.View, n mail.Name) string {
	if n == mail.User {
		return v.Base + "/"
	}
	return v.AgentHref(n)
}

// Href is the address of the question: where to answer it, if it waits for the user.
func (l Link) Href() string {
	if l.Asked == mail.User {
		return l.LetterHref(l.Question)
	}
	return l.Base + page.ThreadPath(l.Question) + "#m-" + string(l.Question)
}

// Key identifies the link across requests.
func (l Link) Key() string { return string(l.Question) + "-" + url.PathEscape(words.Who(l.To())) }

// About is the subject of the question.
func (l Link) About() string { return cmp.Or(l.Subject, string(l.Type)) }

// Long says how long it has waited.
func (l Link) Long() string {
	return words.Lasting(max(l.Now.Sub(l.Since.Std()), 0).Truncate(time.Minute))
}

// Late reports whether it has waited LongWait or longer.
func (l Link) Late() bool { return l.Now.Sub(l.Since.Std()) >= LongWait }

// Whom names the one waited for, as the user reads it.
func (l Link) Whom() string {
	if l.Asked == mail.User {
		return "you"
	}
	return words.Who(l.To())
}

// Asks is the client dialog that the one waited for is at; nil if none.
func (l Link) Asks() *mail.Card { return l.CardOf(l.Asked) }

// Title describes the link.
func (l Link) Title() string {
	text := words.Who(l.From()) + " has waited for " + words.Who(l.To()) + " since " +
		words.Moment(l.Now, l.Since) + ": " + l.About()
	if l.More > 0 {
		text += ", and " + wording.Plural(l.More, "more question")
	}
	return text
}

// Chain is a chain of waits, or a circle, perhaps with a chain leading into it.
type Chain struct {
	Lead   []Link
	Circle []Link    // its last link leads back to the start of the first
	Since  mail.Time // the longest wait in it
	AsOf   mail.Time // for a closed room: when its state was recorded; 0: now
}

// View is that of its room.
func (c Chain) View() *page.View {
	if len(c.Lead) > 0 {
		return c.Lead[0].View
	}
	return c.Circle[0].View
}

// Ends is the chain's last link, to one who waits for no one; none if the chain ends in a circle.
func (c Chain) Ends() []Link {
	if len(c.Circle) > 0 {
		return nil
	}
	return c.Lead[len(c.Lead)-1:]
}

// Round is the circle without its last link, which is drawn back to the beginning.
func (c Chain) Round() []Link { return c.Circle[:len(c.Circle)-1] }

// Back is that last link.
func (c Chain) Back() Link { return c.Circle[len(c.Circle)-1] }

// LinksOf groups open questions, oldest first, by asker and recipient.
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

// ChainsOf draws links as few chains that contain each link at least once, longest wait first.
func ChainsOf(links []Link) []Chain {
	by := make(map[pairKey]Link)
	open := make(map[string]Link) // by asker: links to an address that no agent has taken
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

// chain is the chain that begins with a link. It ends early if the list of links was truncated.
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

// In returns the waits in the room, longest first, and how many more there are.
func In(v *page.View) (links []Link, rest int, err error) {
	list, err := v.Svc.Waiting(v.Ctx(), mail.WaitingQuery{Limit: mail.MaxLimit})
	return LinksOf(v, list.Waiting), list.Rest, err
}

// InRoom is the waits in one of several rooms.
type InRoom struct {
	Room  mail.RoomName
	AsOf  mail.Time // for a closed room: when its state was recorded; 0: now
	Links []Link
}

// Chains are the room's chains.
func (r InRoom) Chains() []Chain {
	out := ChainsOf(r.Links)
	for i := range out {
		out[i].AsOf = r.AsOf
	}
	return out
}

// Shown returns the waits in the rooms of the page, how many more there are, and the rooms that are missing.
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

// ChainsIn are the chains of several rooms, longest wait first.
func ChainsIn(rooms []InRoom) []Chain {
	var out []Chain
	for _, r := range rooms {
		out = append(out, r.Chains()...)
	}
	slices.SortStableFunc(out, func(a, b Chain) int { return cmp.Compare(a.Since, b.Since) })
	return out
}

// OfAgent is an agent's waits.
type OfAgent struct {
	For []Link // whom it waits for, longest first
	By  []Link // who waits for it
}

// MoreFor is how many more it waits for.
func (w OfAgent) MoreFor() int { return len(w.For) - 1 }

// ByAgent groups links by the agents at both ends.
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

// Remindable reports whether a reminder can be sent: the user needs no mail for that.
func (l Link) Remindable() bool { return l.Asked != "" && l.Asked != mail.User }

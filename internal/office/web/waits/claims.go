package waits

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/base/wording"
	"pennypost/internal/mail"
	"pennypost/internal/office/web/page"
	"pennypost/internal/office/web/words"
)

// Held is a claim of an agent or of the user.
type Held struct {
	*page.View
	mail.Holding
	By []mail.Name // agents that wait for it
}

// Holder is an agent, or the user, that holds claims or waits for some.
type Holder struct {
	*page.View
	Agent  mail.Name
	Holds  []Held
	Awaits []Held // claims of others that it waits for
}

// HoldersIn returns the holders in the view's room and those who wait for claims, by name.
func HoldersIn(v *page.View) ([]Holder, error) {
	list, err := v.Svc.Claims(v.Ctx(), mail.ClaimQuery{})
	if err != nil || len(list.Claims) == 0 {
		return nil, err
	}
	waiting, err := v.Svc.Stuck(v.Ctx(), mail.StuckQuery{Kind: mail.StuckClaim, Limit: mail.MaxLimit})
	if err != nil {
		return nil, err
	}
	of := make(map[mail.Name]*Holder)
	at := func(n mail.Name) *Holder {
		if of[n] == nil {
			of[n] = &Holder{View: v, Agent: n}
		}
		return of[n]
	}
	for _, h := range list.Claims {
		held := Held{View: v, Holding: h}
		for i := range waiting.Groups {
			if g := &waiting.Groups[i]; g.WaitsFor(&h) {
				n := g.For.Signer()
				held.By = append(held.By, n)
				at(n).Awaits = append(at(n).Awaits, Held{View: v, Holding: h})
			}
		}
		at(h.Agent).Holds = append(at(h.Agent).Holds, held)
	}
	out := make([]Holder, 0, len(of))
	for _, h := range of {
		out = append(out, *h)
	}
	slices.SortFunc(out, func(a, b Holder) int { return mail.CompareNames(a.Agent, b.Agent) })
	return out, nil
}

// HoldersByRoom is HoldersIn for each open room of the page. A room that fails has no holders.
func HoldersByRoom(v *page.View) (map[mail.RoomName][]Holder, error) {
	open := []*page.View{v}
	if v.Several() {
		open, _, _ = v.Apart()
	}
	out := make(map[mail.RoomName][]Holder)
	for _, in := range open {
		list, err := HoldersIn(in)
		if err != nil && (len(open) == 1 || v.Ctx().Err() != nil) {
			return nil, err
		} else if err != nil {
			v.Site.Log.Warn("claims of a room left out", "room", in.Room, "err", err)
		}
		out[in.Room] = list
	}
	return out, nil
}

// HolderOf returns the agent's entry; nil if it has none.
func HolderOf(list []Holder, n mail.Name) *Holder {
	i := slices.IndexFunc(list, func(h Holder) bool { return h.Agent == n })
	if i < 0 {
		return nil
	}
	return &list[i]
}

// mostNamed limits the claims named on one line.
const mostNamed = 3

// First are the claims named on the line.
func (h Holder) First() []Held { return h.Most(mostNamed) }

// Most returns at most n claims, first those that others wait for.
func (h Holder) Most(n int) []Held {
	list := slices.Clone(h.Holds)
	slices.SortStableFunc(list, func(a, b Held) int { return min(len(b.By), 1) - min(len(a.By), 1) })
	return list[:min(len(list), n)]
}

// Rest is how many more it holds.
func (h Holder) Rest() int { return max(len(h.Holds)-mostNamed, 0) }

// Href is the page of the holder.
func (h Held) Href() string { return nameHref(h.View, h.Agent) }

// Href is the page of the agent.
func (h Holder) Href() string { return nameHref(h.View, h.Agent) }

// Since is when it took its oldest claim.
func (h Holder) Since() mail.Time {
	return slices.MinFunc(h.Holds, func(a, b Held) int { return int(a.Since - b.Since) }).Since
}

// Sender is the holder's address.
func (h Held) Sender() mail.Address { return signs(h.Agent) }

// Sender is the agent's address.
func (h Holder) Sender() mail.Address { return signs(h.Agent) }

func signs(n mail.Name) mail.Address {
	if n == mail.User {
		return mail.ToUser
	}
	return mail.AgentAddress(n)
}

// What is the claimed path or name.
func (h Held) What() string { return h.Holding.Target.String() }

// Form is the target as a form names it.
func (h Held) Form() (string, error) {
	text, err := jsonx.Marshal(h.Holding.Target)
	return string(text), err
}

// Ref is the id of its row.
func (h Held) Ref() string {
	form, _ := h.Form()
	sum := sha256.Sum256([]byte(string(h.Room) + "\x00" + string(h.Agent) + "\x00" + form))
	return "held-" + hex.EncodeToString(sum[:8])
}

// Waiting says who waits for it; "": no one.
func (h Held) Waiting() string {
	if len(h.By) == 0 {
		return ""
	}
	text := wording.Join(h.By, ", ", func(n mail.Name) string { return string(n) })
	if len(h.By) > 1 {
		return text + " wait for it"
	}
	return text + " waits for it"
}

// Title describes the claim on one line.
func (h Held) Title() string {
	text := words.Who(h.Sender()) + " has held " + h.What() + " since " + words.Moment(h.Now, h.Since)
	if h.Why != "" {
		text += ", for: " + h.Why
	}
	if h.Holding.At != "" {
		text += " (in " + h.Holding.At + ")"
	}
	if w := h.Waiting(); w != "" {
		text += ". " + w
	}
	return strings.TrimSpace(text)
}

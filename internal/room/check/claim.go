package check

import (
	"fmt"
	"slices"
	"time"

	"pennypost/internal/base/wording"
	"pennypost/internal/mail"
	"pennypost/internal/policy"
	"pennypost/internal/room/fold"
)

// Claim decides what the caller takes and gives up.
func (v *View) Claim(r mail.ClaimRequest) (events []mail.Event, out mail.Claimed, err error) {
	m, err := v.claimant()
	if err != nil {
		return nil, out, err
	}
	if len(r.Free) > 0 || r.All {
		if events, out.Freed, err = v.giveUp(m, r); err != nil || len(r.Take) == 0 {
			return events, out, err
		}
	}
	free := v.clashes(m, &r, &out)
	c := &mail.ClaimChange{Agent: m.Name}
	if !r.Look {
		if c.Take, err = v.taking(m, r, free); err != nil {
			return nil, out, err
		}
	}
	if !r.Look || r.Write {
		events = append(events, v.clashing(m, r, c, out)...)
	}
	if len(c.Take)+len(c.Wait) > 0 {
		events = append(events, mail.Event{At: v.Now, Claim: c})
	}
	return events, out, nil
}

// clashes finds the claims of others that conflict with the request, and returns what may be taken.
func (v *View) clashes(m *fold.Member, r *mail.ClaimRequest, out *mail.Claimed) (free []mail.Target) {
	for i, t := range r.Take {
		t = v.onMachine(t)
		r.Take[i] = t
		if h, found := v.Clash(m, t, r.Shared, v.Now); found {
			out.Clashes = append(out.Clashes, mail.Clash{Wanted: t, Held: h})
		} else {
			free = append(free, t)
		}
	}
	if len(out.Clashes) == 0 {
		return free
	}
	if out.Refused = r.Write && v.Claims == policy.ClaimsRefuse; out.Refused || !r.Write {
		return nil
	}
	return free
}

// onMachine returns a target with its machine: this one, unless a caller on another machine, which is no member of
// the cluster, has named that.
func (v *View) onMachine(t mail.Target) mail.Target {
	if t.Machine == "" {
		return t.On(v.Machine)
	}
	return t
}

// claimant returns the caller that asks for a claim: an agent of this room, or the user.
func (v *View) claimant() (*fold.Member, error) {
	m := v.Me()
	if m == nil || !m.IsUser() && !m.Listed() {
		return nil, mail.Errorf(mail.Denied, "%s is not an agent of room %s and cannot claim anything here: "+
			"nothing was claimed",
			v.Who, v.Room)
	}
	return m, nil
}

// taking returns the claims on free targets that m takes. A claim that m already holds for as long is no change.
func (v *View) taking(m *fold.Member, r mail.ClaimRequest, free []mail.Target) (take []mail.Claim, err error) {
	claim, held := v.claimOf(m, r), 0
	for i := range m.Claims {
		if m.Holds(&m.Claims[i], v.Now) {
			held++
		}
	}
	for _, t := range free {
		known := m.Claim(t)
		switch {
		case known == nil || !m.Holds(known, v.Now):
			held++
		case r.Write && known.Shared == r.Shared, claim.Lasts(known) && v.Machine == "":
			continue // with other machines only its sequence number says that it is still held
		}
		if held > mail.MaxClaims && r.Write {
			break // that must not keep anyone from writing
		} else if held > mail.MaxClaims {
			return nil, mail.Errorf(mail.Limited, "%s already holds %d claims, the maximum: release some. Nothing "+
				"was claimed", m.Name, mail.MaxClaims)
		}
		claim.Target = t
		take = append(take, claim)
	}
	return take, nil
}

// claimOf is the common part of m's claims of a request.
func (v *View) claimOf(m *fold.Member, r mail.ClaimRequest) mail.Claim {
	claim := mail.Claim{Shared: r.Shared, Why: r.Why, Process: r.Process}
	if r.Process != "" {
		claim.Runs = v.Machine
	}
	switch forever := m.Session != "" && !m.IsUser() || r.Process != ""; {
	case r.Write:
		claim.Quiet = max(int(v.Quiet/time.Second), 1)
	case r.For > 0:
		claim.Until = v.Now.Add(time.Duration(r.For) * time.Second)
	case !forever:
		claim.Until = v.Now.Add(mail.ClaimTime)
	}
	return claim
}

// giveUp returns the events that give up claims or waits of m, or of another.
func (v *View) giveUp(m *fold.Member, r mail.ClaimRequest) (events []mail.Event, freed []mail.Holding, err error) {
	c := &mail.ClaimChange{}
	if r.Of != "" && r.Of != m.Name {
		if err := v.MayFree(); err != nil {
			return nil, nil, err
		}
		c.By = m.Name
		if m, err = v.Mailbox(r.Of); err != nil {
			return nil, nil, err
		}
	}
	c.Agent = m.Name
	for i := range m.Claims {
		o := &m.Claims[i]
		asked := func(t mail.Target) bool { return t.Same(o.Target) || v.onMachine(t).Same(o.Target) }
		if !r.All && !slices.ContainsFunc(r.Free, asked) {
			continue
		}
		c.Free = append(c.Free, o.Target)
		if m.Holds(o, v.Now) {
			freed = append(freed, mail.Holding{Claim: *o, Agent: m.Name})
		}
	}
	if r.All {
		c.Free = append(c.Free, m.Awaits...)
	}
	if len(c.Free) == 0 {
		return nil, nil, nil
	}
	events = append(events, mail.Event{At: v.Now, Claim: c})
	if c.By != "" && len(freed) > 0 && !m.IsUser() {
		events = append(events, v.tell(m, fmt.Sprint("freed ", v.Seq, " ", m.Name), "The user released your claims",
			"You no longer hold these; the user released them:\n\n"+list(freed)))
	}
	return events, freed, nil
}

// MayFree says why the caller cannot give up claims of others: only the person can, and by their own act.
func (v *Asker) MayFree() error {
	if err := v.NeedUser("release the claims of others"); err != nil {
		return err
	}
	if v.Means.Settles() {
		return nil
	}
	return mail.Errorf(mail.Denied, "only you yourself can release an agent's claims: nothing was changed")
}

// clashing returns the notices of clashes, and records what m waits for.
func (v *View) clashing(m *fold.Member, r mail.ClaimRequest, c *mail.ClaimChange, out mail.Claimed) (
	events []mail.Event) {
	for _, clash := range out.Clashes {
		holder, waits := v.Members[clash.Held.Agent], r.Wait || out.Refused
		if waits && !slices.ContainsFunc(m.Awaits, clash.Wanted.Same) {
			c.Wait = append(c.Wait, clash.Wanted)
		}
		if waits {
			events = append(events, v.circle(m, holder, clash)...)
		}
		if r.Write || r.Wait {
			events = append(events, v.tellBoth(m, holder, clash, out.Refused || !r.Write)...)
		}
	}
	return events
}

// tellBoth tells the holder once that another wants its claim or, if the write went ahead, has written it; then it
// tells the writer too.
func (v *View) tellBoth(m, holder *fold.Member, clash mail.Clash, waits bool) []mail.Event {
	h := clash.Held
	if waits {
		return v.tellOnce(holder, noticeOf(h.Since, waitsEvery, "waits", h.Agent, m.Name, h.Target),
			fmt.Sprintf("%s waits for %s, which you hold", m.Name, h.Target),
			fmt.Sprintf("%s wants %s, which you have held since %s. The claim was refused; the agent is told when "+
				"you release yours. When you are done: pennypost claims release %s\n", m.Name, clash.Wanted,
				h.Clock(), wording.Shell(h.Target.String())))
	}
	return append(
		v.tellOnce(holder, noticeOf(h.Since, writesEvery, "writes", h.Agent, m.Name, h.Target),
			fmt.Sprintf("%s writes %s, which you hold", m.Name, clash.Wanted),
			fmt.Sprintf("You have held %s since %s; %s is writing %s now. Read the file again before you change "+
				"it, and agree with %s on who continues.\n", h.Target, h.Clock(), m.Name, clash.Wanted, m.Name)),
		v.tellOnce(m, noticeOf(h.Since, writesEvery, "writer", h.Agent, m.Name, h.Target),
			fmt.Sprintf("%s holds %s, which you write", h.Agent, clash.Wanted),
			fmt.Sprintf("%s has held %s since %s%s. Your write of %s was allowed. Read the file again before you "+
				"continue, and agree with %s on who does.\n", h.Agent, h.Target, h.Clock(), because(h.Why),
				clash.Wanted, h.Agent))...)
}

// circle tells the user of agents that wait for each other, m the last of them.
func (v *View) circle(m, holder *fold.Member, clash mail.Clash) []mail.Event {
	path := policy.Circle(m.Name, holder.Name, func(n mail.Name) []mail.Name { return v.WaitsFor(n, v.Now) })
	if path == nil {
		return nil
	}
	names := string(m.Name) + " waits for " + string(holder.Name)
	for _, o := range path[2:] {
		names += ", which waits for " + string(o)
	}
	return v.tellOnce(v.Members[mail.User], circleNotice(clash.Held.Since, path[1:]),
		"Agents wait for each other's claims",
		fmt.Sprintf("%s, which wants %s. None of them can continue. To see the claims: pennypost claims. To "+
			"release one: pennypost claims release --of AGENT WHAT\n", names, clash.Wanted))
}

// TellFree returns the events that tell waiting agents what is free now.
func (v *View) TellFree() (events []mail.Event) {
	for _, m := range v.Claimants() {
		c := &mail.ClaimChange{Agent: m.Name, By: mail.System}
		text := ""
		for _, t := range m.Awaits {
			if _, found := v.Clash(m, t, false, v.Now); !found {
				c.Free = append(c.Free, t)
				text += "- " + t.String() + "\n"
			}
		}
		n := noticeOf(v.Now, freeEvery, "free", m.Name)
		if len(c.Free) > 0 && !v.wasTold(m, n) { // else it keeps waiting, and is told later of all that is free then
			events = append(events, v.tell(m, n.key(), "It is free: "+c.Free[0].String(),
				"You waited for this, and no agent holds it now. It is yours only after you claim it or write "+
					"it:\n\n"+text),
				mail.Event{At: v.Now, Claim: c})
		}
	}
	return events
}

// tell returns the message that tells an agent, or the user, of claims. An agent at work is told in this turn; one
// that waited for it, and the user, is woken.
func (v *View) tell(m *fold.Member, key, subject, body string) mail.Event {
	to := mail.AgentAddress(m.Name)
	if m.IsUser() {
		to = mail.ToUser
	}
	ids, _ := v.minting([]mail.Address{to})
	msg := &mail.Message{ID: v.NewID(v.State, ids), Type: mail.Custom, From: mail.FromSystem, To: []mail.Address{to},
		Key: key, Subject: wording.Clip(subject, mail.MaxSubject), Body: body}
	if m.State == mail.Working || len(m.Awaits) > 0 || m.IsUser() {
		msg.Priority = mail.Urgent
	}
	return mail.Event{At: v.Now, Message: msg}
}

func list(held []mail.Holding) (text string) {
	for i := range held {
		text += "- " + held[i].Target.String() + "\n"
	}
	return text
}

func because(why string) string {
	if why == "" {
		return ""
	}
	return "; reason: " + why
}

// DeadClaims returns the events that give up claims whose program has ended.
func (v *View) DeadClaims() (events []mail.Event) {
	for _, m := range v.Claimants() {
		c := &mail.ClaimChange{Agent: m.Name, By: mail.System}
		for i := range m.Claims {
			if o := &m.Claims[i]; o.Process != "" && o.Runs == v.Machine && v.Rules.Ended(o.Process) {
				c.Free = append(c.Free, o.Target)
			}
		}
		if len(c.Free) > 0 {
			events = append(events, mail.Event{At: v.Now, Claim: c})
		}
	}
	return events
}

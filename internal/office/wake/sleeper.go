package wake

import (
	"slices"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
)

// sleeper has a Ringer's facts about an agent or role with mail that should wake it. Its methods only decide; the time
// is their argument.
type sleeper struct {
	ladder policy.Ladder

	// when it was rung in the last policy.BudgetSpan, without answered rings: these count against its budget
	rung []mail.Time
	told map[mail.ID]bool // the messages of the newest ring in rung; nil: that ring was answered
	own  int              // the running ring's position in rung, from the end; 0: it is not there

	rings    int              // successful rings since it last reacted to one
	fails    int              // consecutive rounds in which every door failed
	recalled recalled         // the last ring that recall or heard counted
	given    map[mail.ID]bool // during the replay: the messages that it was given
	door     int              // how many doors were tried in this round
	last     mail.Time        // when the last ring ended
	due      mail.Time        // when to ring or give up; 0: never
	id       string           // the id of the failed ring being retried
	worked   bool             // it was in a turn since the last ring began

	elsewhere bool // another machine rings

	ringing bool             // a ring is in progress
	about   map[mail.ID]bool // the messages of the last successful ring
	delayed bool             // the budget or a person moved due
	alone   mail.Time        // since when no door is known; 0: one is

	answers   []report         // the last answer of each door
	vain      bool             // given up
	brief     map[mail.ID]bool // the waiting messages that the user was told about
	toldAt    mail.Time
	overdrawn mail.Time // when the user was last told that the budget is exhausted
}

// rest forgets everything but the budget: no mail is waiting.
func (s *sleeper) rest() {
	if !s.ringing {
		*s = sleeper{ladder: s.ladder, rung: s.rung, told: s.told, overdrawn: s.overdrawn, recalled: s.recalled}
	}
}

// setBack shifts all times back by the same amount.
func (s *sleeper) setBack(by time.Duration) {
	for _, t := range []*mail.Time{&s.last, &s.due, &s.alone, &s.toldAt, &s.overdrawn} {
		if *t != 0 {
			*t = t.Add(-by)
		}
	}
	for i := range s.rung {
		s.rung[i] = s.rung[i].Add(-by)
	}
}

// see applies the mail that is waiting now.
func (s *sleeper) see(u *mail.Unwoken, now mail.Time) {
	if !policy.MayRing(u.State) {
		s.worked = s.worked || inTurn(u.State)
		if !s.ringing {
			s.due = 0
		}
		return
	}
	if s.ringing {
		return
	}
	turnEnded, handed := s.worked, s.elsewhere
	s.worked, s.elsewhere = false, false
	s.takeNotice(u, now)
	switch {
	case handed && !turnEnded && s.about != nil: // it is rung no sooner than the other machine would have
		s.due = max(now, s.last.Add(s.ladder.Patience(max(s.rings, 1))))
	case s.vain && (turnEnded || s.isNews(u)):
		s.vain, s.rings = false, 0
		s.due = max(now, s.last.Add(s.ladder.LastRetry))
	case s.vain:
	case turnEnded, s.delayed: // the budget is checked again, because new mail may be urgent
		s.due, s.delayed = max(now, s.retried()), false
	case s.due == 0:
		s.due = s.first(u, now)
	}
	s.hurry(u, now)
}

// retried returns when failing doors are tried again, even if a turn has ended since; zero if they do not fail. The
// failed ring may have begun that turn; an immediate ring would begin another, without end.
func (s *sleeper) retried() mail.Time {
	if s.fails == 0 {
		return 0
	}
	return s.last.Add(s.ladder.Retry(s.fails))
}

// hurry brings the next ring forward for mail that the last ring did not cover. If that ring was answered at least in
// part, the next one is due immediately. If not, new mail joins it, but only for as long as the first ring waits for
// an answer, even if the ladder is further up by now. Failing doors keep their schedule, which senders were told.
func (s *sleeper) hurry(u *mail.Unwoken, now mail.Time) {
	if s.due == 0 || s.fails > 0 || !s.moreCame(u) {
		return
	}
	soonest := now
	if s.rings > 0 {
		soonest = max(now, s.last.Add(s.ladder.Patience(1)))
	}
	s.due = min(s.due, soonest)
}

// moreCame reports whether mail has arrived since the last ring.
func (s *sleeper) moreCame(u *mail.Unwoken) bool {
	return s.about != nil && slices.ContainsFunc(u.Mail, func(m mail.UnwokenMail) bool { return !s.about[m.ID] })
}

// inTurn reports whether a state is within a turn, at whose end the agent looks. Clients show dialogs within a turn.
func inTurn(s mail.State) bool { return s == mail.Working || s == mail.Asking }

// leave leaves an agent to another machine.
func (s *sleeper) leave(u *mail.Unwoken, now mail.Time) {
	s.worked = s.worked || inTurn(u.State)
	if s.ringing {
		return
	}
	s.takeNotice(u, now)
	s.elsewhere, s.due, s.delayed, s.vain = true, 0, false, false
	s.fails, s.door, s.id, s.alone = 0, 0, "", 0
}

// heard applies a ring just made by another machine, using only this machine's clock.
func (s *sleeper) heard(rc *mail.Receipt, at, now mail.Time) {
	if of := (recalled{rc.Machine, rc.Door, at}); s.recalled != of {
		s.recalled, s.rung, s.told = of, append(s.rung, now), make(map[mail.ID]bool)
		s.rings, s.last, s.worked = s.rings+1, now, false
		if s.own > 0 {
			s.own++
		}
		s.forgetRings(now)
	}
	if s.told != nil { // otherwise the ring is already answered
		s.told[rc.Message] = true
	}
	s.tellOf(rc.Message)
	if !s.ringing && !s.vain {
		s.due = now.Add(s.ladder.Patience(s.rings))
	}
}

// takeNotice finds out whether mail of the last ring was read, or handed over. An agent that has read some of it is
// working through it, so it gets more time; one that has read all of it has answered the ring.
func (s *sleeper) takeNotice(u *mail.Unwoken, now mail.Time) {
	left := make(map[mail.ID]bool, len(s.about))
	for _, m := range u.Mail {
		if s.about[m.ID] {
			left[m.ID] = true
		}
	}
	switch {
	case len(left) == len(s.about):
		return
	case len(left) == 0:
		s.due, s.about = 0, nil
	default:
		s.due, s.about = now.Add(s.ladder.Patience(1)), left
	}
	s.rings, s.fails, s.vain, s.brief, s.toldAt = 0, 0, false, nil, 0
}

// first returns when to ring for mail for which this process has not rung yet. A ring made by a process that was
// killed is still outstanding, unless a turn has ended since. An agent that was waiting for all of the mail is awake,
// and gets the same time as one that was rung.
func (s *sleeper) first(u *mail.Unwoken, now mail.Time) mail.Time {
	if s.about != nil {
		return now // it was rung, and then frozen
	}
	var rung mail.Time
	waited := true
	for _, m := range u.Mail {
		if m.Notified != 0 {
			s.tellOf(m.ID)
		}
		rung = max(rung, m.Notified)
		waited = waited && m.Waited
	}
	switch {
	case rung != 0:
		turnEnded := u.State == mail.Idle && u.Since > rung // a gone agent may have lapsed with its machine
		rung = min(rung, now)                               // the clock may have been set back since
		if s.last, s.rings = rung, max(s.rings, 1); turnEnded {
			return now
		}
		return max(now, rung.Add(s.ladder.Patience(s.rings)))
	case waited:
		s.about = ids(u)
		return now.Add(s.ladder.Patience(1))
	}
	return now
}

func (s *sleeper) tellOf(id mail.ID) {
	if s.about == nil {
		s.about = make(map[mail.ID]bool)
	}
	s.about[id] = true
}

// isNews reports whether mail is waiting that the user was not told about.
func (s *sleeper) isNews(u *mail.Unwoken) bool {
	return slices.ContainsFunc(u.Mail, func(m mail.UnwokenMail) bool { return !s.brief[m.ID] })
}

// verdict is the action that is due.
type verdict int

const (
	rest    verdict = iota // wait until due
	ring                   // ring
	giveUp                 // tell the user that it cannot be woken
	overrun                // tell the user that the budget is exhausted; the ring was deferred
)

// decide returns the action that is due. Call see first. typed returns when the person last typed into the session of
// u; nil: not known.
func (s *sleeper) decide(u *mail.Unwoken, typed func(mail.Name) mail.Time, now mail.Time) verdict {
	if s.ringing || s.due == 0 || s.due > now {
		return rest
	}
	if s.rings >= s.ladder.Rings && !s.moreCame(u) {
		return giveUp
	}
	s.forgetRings(now)
	urgent := slices.ContainsFunc(u.Mail, func(m mail.UnwokenMail) bool { return m.Urgent })
	if at := leave(u, urgent, typed, now); at != 0 {
		s.due, s.delayed = at, true
		return rest
	}
	at := s.ladder.Allowed(s.rung, urgent, now)
	if at == now {
		return ring
	}
	s.due, s.delayed = at, true
	if s.overdrawn != 0 && now.Sub(s.overdrawn) < policy.BudgetSpan {
		return rest
	}
	return overrun
}

// leave returns until when u is left to the person at its session; zero if it may be rung.
func leave(u *mail.Unwoken, urgent bool, typed func(mail.Name) mail.Time, now mail.Time) mail.Time {
	if at := policy.AfterBreak(u.Broken, urgent, u.Since, now); at != 0 {
		return at
	}
	var told mail.Time
	for _, m := range u.Mail {
		if m.Told == 0 {
			return 0
		}
		told = max(told, m.Told)
	}
	var last mail.Time
	if typed != nil {
		last = typed(u.Agent)
	}
	return policy.AfterOpening(told, last, now)
}

// noDoor decides what to do if no door can be rung. Doors that are all off are for the user to repair. If there never
// was one, the session or its person often reads the mail unprompted, and gets the time of the ladder's last step.
//
// If the agent's machine is away, the user is told after awayPatience: it may be back in a moment.
func (s *sleeper) noDoor(off, away bool, now mail.Time) verdict {
	if off {
		return giveUp
	}
	if s.alone == 0 {
		s.alone = now
	}
	s.due = s.alone.Add(s.ladder.LastRetry)
	if away {
		s.due = s.alone.Add(awayPatience)
	}
	if s.toldAt != 0 {
		s.due = max(s.due, s.toldAt.Add(retellAfter))
	}
	if s.due > now {
		return rest
	}
	return giveUp
}

// awayPatience is how long the user is not told that a machine is away: a laptop changes its network, or a post office
// restarts. Sessions lapse after three minutes, and their mail is then shown as undelivered.
const awayPatience = 30 * time.Second

// found records that there is a door: an agent that had none is rung.
func (s *sleeper) found(now mail.Time) {
	if s.alone != 0 {
		s.alone, s.due, s.vain = 0, now, false
	}
}

// forgetRings drops rings that no longer count against the budget.
func (s *sleeper) forgetRings(now mail.Time) {
	s.rung = slices.DeleteFunc(s.rung, func(t mail.Time) bool { return now.Sub(t) >= policy.BudgetSpan })
	if len(s.rung) == 0 {
		s.told = nil
	}
}

// answer records that the agent was given a message, or marked it: the ring for that message no longer counts. Mail
// told by a hook counts only when it is known that the model was given it. Otherwise turns that are interrupted could
// be rung for without end.
func (s *sleeper) answer(id mail.ID) {
	if s.told[id] {
		s.uncount()
	}
}

// uncount removes the newest ring from the budget, unless it already was.
func (s *sleeper) uncount() {
	if s.told != nil {
		s.rung, s.told, s.own = s.rung[:len(s.rung)-1], nil, max(0, s.own-1)
	}
}

// uncountOwn removes the running ring from the budget. Another machine may have rung since it began.
func (s *sleeper) uncountOwn() {
	switch i := len(s.rung) - s.own; {
	case s.own == 1:
		s.uncount()
	case s.own > 1 && i >= 0:
		s.rung = slices.Delete(s.rung, i, i+1)
	}
	s.own = 0
}

// join adds the rings made for the same agent under its new name, before this process knew that name.
func (s *sleeper) join(o *sleeper) {
	if len(o.rung) == 0 {
		return
	}
	s.rung, s.told, s.own = append(s.rung, o.rung...), o.told, 0
	slices.Sort(s.rung)
}

// notBefore is the time until which mail is not rung for, whatever the budget: 0 if it is not deferred.
func (s *sleeper) notBefore() mail.Time {
	if s.fails > 0 {
		return s.due
	}
	return 0
}

// next returns the door to try: after an unanswered ring through one door, the next ring starts with the next door.
func (s *sleeper) next(doors []Waker) Waker { return doors[(s.rings+s.door)%len(doors)] }

// begin records the start of a ring for u. It counts from now on: an agent may answer before its door does.
func (s *sleeper) begin(u *mail.Unwoken, now mail.Time) {
	s.ringing, s.worked, s.delayed = true, false, false
	s.rung, s.told, s.own = append(s.rung, now), ids(u), 1
}

// succeed records that a door was rung for u.
func (s *sleeper) succeed(u *mail.Unwoken, now mail.Time) {
	s.ringing, s.id, s.last, s.fails, s.door, s.own = false, "", now, 0, 0, 0
	s.rings++
	s.due = now.Add(s.ladder.Patience(s.rings))
	s.about = ids(u)
}

func ids(u *mail.Unwoken) map[mail.ID]bool {
	out := make(map[mail.ID]bool, len(u.Mail))
	for _, m := range u.Mail {
		out[m.ID] = true
	}
	return out
}

// retellAfter is the shortest time between two notices to the user about an agent whose doors keep failing. The second
// is sent only if more mail has arrived.
const retellAfter = policy.BudgetSpan

// fail records that a door did not take the ring, and reports whether to tell the user. doors is the number of doors.
func (s *sleeper) fail(u *mail.Unwoken, doors int, now mail.Time) (tell bool) {
	s.ringing, s.last, s.due = false, now, now
	s.uncountOwn()
	if s.door++; s.door < doors {
		return false // the next door is due immediately
	}
	s.door = 0
	s.fails++
	s.due = now.Add(s.ladder.Retry(s.fails))
	if s.fails < s.ladder.Failures {
		return false
	}
	return s.toldAt == 0 || s.isNews(u) && now.Sub(s.toldAt) >= retellAfter
}

// tell records that the user was told about u.
func (s *sleeper) tell(u *mail.Unwoken, now mail.Time) {
	s.toldAt, s.brief = now, ids(u)
}

// abandon gives up after the user was told.
func (s *sleeper) abandon() { s.vain, s.due = true, 0 }

// recalled identifies a ring in the journal.
type recalled struct {
	machine mail.Machine
	door    string
	at      mail.Time
}

// recall applies a journal event from before this process served the room. Future times predate a clock reset.
func (s *sleeper) recall(rc *mail.Receipt, at, now mail.Time) {
	switch {
	case rc.Mark == mail.MarkNotified && rc.Door != mail.HookDoor: // a hook only points to the mail
		if of := (recalled{rc.Machine, rc.Door, at}); s.recalled != of { // one ring marks many messages
			at = min(at, now)
			s.rung, s.recalled = append(s.rung, at), of
			s.rings++
			s.forgetRings(at)
			if s.told == nil { // otherwise earlier messages are not marked again
				s.told = make(map[mail.ID]bool)
			}
		}
		switch {
		case s.given[rc.Message]: // in a turn that the door waited for
			s.rings = 0
			s.uncount()
		case s.told != nil:
			s.told[rc.Message] = true
		}
	case answers(rc.Mark):
		s.rings = 0
		s.answer(rc.Message)
		if s.given == nil {
			s.given = make(map[mail.ID]bool)
		}
		s.given[rc.Message] = true
	}
}

// answers reports whether a mark shows that the reader was given the message.
func answers(m mail.Mark) bool {
	return m == mail.MarkPresented || m == mail.MarkRead || m == mail.MarkArchived
}

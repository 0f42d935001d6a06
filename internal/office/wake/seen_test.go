package wake

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
)

// visit is an agent's behaviour between two arrivals of mail.
type visit struct {
	Mail  int    // how many messages arrive first, at the same moment
	Looks string // how it is shown the waiting mail
	Marks bool   // it marks the mail read
	Ends  bool   // its session ends then
	After time.Duration
}

// The ways of looking.
const (
	notAtAll  = "not at all"
	byTool    = "by a tool"
	byHook    = "by a hook" // the end of the turn proves that the model was given the mail
	brokenOff = "by a hook, in a turn that breaks off with its session"
)

// TestP8_Seen makes an agent look at its mail in every way: it marks it or not, its session then ends or stays, it has
// hooks or none, and its mail is its own or that of a role, which is held while its session is gone. Mail that it was
// shown never rings again. New mail rings immediately, or else joins an unanswered ring, for as long as the first ring
// waits. Mail that it was not shown is rung for in the end, or the user is told.
func TestP8_Seen(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		hooks, role := rapid.Bool().Draw(rt, "hooks"), rapid.Bool().Draw(rt, "role")
		ways := []string{notAtAll, byTool, byTool}
		if hooks {
			ways = append(ways, byHook, byHook, brokenOff)
		}
		visits := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) visit {
			return visit{rapid.IntRange(1, 3).Draw(rt, "mail"), rapid.SampledFrom(ways).Draw(rt, "looks"),
				rapid.Bool().Draw(rt, "marks"), rapid.Bool().Draw(rt, "ends"),
				rapid.SampledFrom([]time.Duration{0, 5 * time.Second, 90 * time.Second, 3 * time.Minute,
					20 * time.Minute, time.Hour}).Draw(rt, "after")}
		}), 1, 8).Draw(rt, "visits")
		var faults []string
		synctest.Test(t, func(t *testing.T) { faults = lookedAt(t, hooks, role, visits) })
		for _, f := range faults {
			rt.Error(f)
		}
	})
}

// looker is an agent called lead, in a fixture.
type looker struct {
	*fixture
	door   *bell
	hooks  bool
	inside bool // its session has begun
	all    []mail.ID
	told   []mail.ID             // by hooks, and not proven yet
	seen   map[mail.ID]time.Time // when it was shown, or marked
	faults []string
}

// lookedAt returns the faults in a sequence of visits.
func lookedAt(t *testing.T, hooks, role bool, visits []visit) []string {
	door := &bell{kind: "exec"}
	l := &looker{door: door, hooks: hooks, seen: make(map[mail.ID]time.Time), fixture: &fixture{T: t,
		doors: NewDoors(Entry{For: "agent:lead", Wakers: []Waker{door}, Budget: 1000})}}
	l.start()
	defer l.end()
	l.register(mail.Presence{Name: "lead", Roles: []string{"orchestrator"}, State: mail.Idle})
	to := map[bool]string{false: "lead", true: "orchestrator"}[role]
	for i, v := range visits {
		l.news(i, to, v.Mail)
		l.look(v)
		l.pass(v.After)
	}
	l.pass(8 * time.Hour)
	l.check()
	return l.faults
}

// news sends mail, and checks when the agent is rung for it.
func (l *looker) news(visit int, to string, n int) {
	waited, rings := len(l.unseen()) > 0, l.door.rung()
	began := time.Now()
	for range n {
		l.all = append(l.all, l.send(to, "question", mail.Draft{}).ID)
	}
	newest := l.all[len(l.all)-1]
	within := moment
	if waited { // its ring may be unanswered, or its turn may have just been interrupted
		within += 2 * time.Minute
	}
	for !l.toldOf(newest) && time.Since(began) < within {
		l.pass(moment / 4)
	}
	if !l.toldOf(newest) {
		l.fault("visit %d: no ring tells of what came %s ago", visit, time.Since(began))
	}
	if got := l.door.rung() - rings; got != 1 && !waited {
		l.fault("visit %d: %d messages made %d rings, want one", visit, n, got)
	}
}

// look makes the agent look, and ends its session or not.
func (l *looker) look(v visit) {
	if v.Looks == notAtAll {
		return
	}
	if !l.inside {
		l.begin()
	}
	if l.hooks {
		l.moment(mail.Turn{Moment: mail.TurnStart})
	}
	switch v.Looks {
	case byTool:
		unseen := l.unseen()
		l.mark("lead", mail.MarkPresented, unseen...)
		l.sees(unseen)
	case brokenOff:
		v.Marks, v.Ends = false, true
	}
	for again := l.hooks && v.Looks != brokenOff; again; {
		again = l.moment(mail.Turn{Moment: mail.TurnEnd, Proof: true}).Continue
	}
	if v.Marks {
		l.mark("lead", mail.MarkRead)
		l.sees(l.unseen())
	}
	if v.Ends {
		l.leave()
	}
	synctest.Wait()
}

func (l *looker) begin() {
	l.inside = true
	if l.hooks {
		l.moment(mail.Turn{Moment: mail.SessionStart})
		return
	}
	l.state("lead", mail.Idle)
}

func (l *looker) leave() {
	l.inside = false
	if l.hooks {
		l.moment(mail.Turn{Moment: mail.SessionEnd})
		return
	}
	l.state("lead", mail.Gone)
}

// sees records that the model was given messages.
func (l *looker) sees(ids []mail.ID) {
	for _, id := range ids {
		if l.seen[id].IsZero() {
			l.seen[id] = time.Now()
		}
	}
}

// moment reports a moment of the session, whose hook hands over its text. The next moment may prove its arrival.
func (l *looker) moment(t mail.Turn) mail.Briefing {
	l.Helper()
	if t.Proof {
		l.sees(l.told)
	}
	if t.Moment != mail.TurnStart {
		l.told = nil
	}
	t.Session, t.Client = "s1", "claude"
	brief, err := l.room.As("lead").Turn(l.Context(), t)
	l.must(err)
	for _, it := range brief.Items {
		l.told = append(l.told, it.ID)
	}
	if len(l.told) > 0 {
		l.mark("lead", mail.MarkTold, l.told...)
	}
	synctest.Wait()
	return brief
}

// unseen returns the mail that the agent was not shown and has not marked.
func (l *looker) unseen() (ids []mail.ID) {
	for _, id := range l.all {
		if l.seen[id].IsZero() {
			ids = append(ids, id)
		}
	}
	return ids
}

// toldOf reports whether a ring named a message.
func (l *looker) toldOf(id mail.ID) bool {
	rings, _ := l.door.all()
	for _, r := range rings {
		for _, of := range r.Messages {
			if of == id {
				return true
			}
		}
	}
	return false
}

// check checks all rings, and that no unseen mail is forgotten.
func (l *looker) check() {
	rings, when := l.door.all()
	for i, r := range rings {
		for _, id := range r.Messages {
			if at := l.seen[id]; !at.IsZero() && at.Before(when[i]) {
				l.fault("the ring of %s tells of what the agent was shown at %s", when[i].Format(time.TimeOnly),
					at.Format(time.TimeOnly))
			}
		}
	}
	brief := reported(l.T, l.notices())
	for _, id := range l.unseen() {
		if !brief[id] {
			l.fault("%s was never seen, and nobody was told", id)
		}
	}
	if l.door.rungTwice() {
		l.fault("two rings at a time")
	}
	if n := l.waits(); n != 0 {
		l.fault("in the end %d rings are outstanding", n)
	}
}

func (l *looker) fault(format string, args ...any) {
	l.faults = append(l.faults, fmt.Sprintf(format, args...))
}

// TestP12_FloodOfNews: a flood of mail does not cause a flood of rings: an agent that does not look is rung for it at
// most every two minutes, and within its budget. One that looks at some of it is rung for newer mail.
func TestP12_FloodOfNews(t *testing.T) {
	door := &bell{kind: "exec"}
	inFixture(t, []Entry{{For: "agent:bob", Wakers: []Waker{door}}}, func(b *fixture) {
		for range 3600 {
			b.send("bob", "question", mail.Draft{})
			b.pass(time.Second)
		}
		rings, when := door.all()
		for i := range when[1:] {
			if gap := when[i+1].Sub(when[i]); gap < 2*time.Minute {
				b.Errorf("two rings within %s", gap)
			}
		}
		if n := len(rings); n < 5 || n > policy.DefaultBudget {
			b.Errorf("an hour of mail made %d rings", n)
		}
	}, mail.Presence{Name: "bob"})
	door = &bell{kind: "exec"}
	inFixture(t, []Entry{{For: "agent:bob", Wakers: []Waker{door}}}, func(b *fixture) {
		one := b.send("bob", "question", mail.Draft{}).ID
		b.send("bob", "question", mail.Draft{})
		b.rung(door, 1, "the first two")
		b.mark("bob", mail.MarkPresented, one)
		b.pass(10 * time.Second)
		b.rung(door, 1, "one was looked at")
		b.send("bob", "question", mail.Draft{})
		b.rung(door, 2, "the ring was answered, and more has come")
		b.send("bob", "question", mail.Draft{})
		b.pass(time.Minute)
		b.rung(door, 2, "that ring is outstanding")
		b.pass(time.Minute)
		b.rung(door, 3, "and was not answered")
		b.pass(2*time.Minute + time.Second)
		b.send("bob", "question", mail.Draft{})
		b.rung(door, 4, "nobody waits for the four minutes of the third ring")
	}, mail.Presence{Name: "bob"})
}

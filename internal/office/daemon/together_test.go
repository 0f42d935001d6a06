package daemon_test

import (
	"context"
	"flag"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
	"pennypost/internal/office/hook/hooktest"
	"pennypost/internal/policy"
)

var (
	histories = flag.Int("histories", 400, "how many random histories TestP8_Together tries")
	history   = flag.Int("history", -1, "the only one that it tries")
)

// TestP8_Together lets two to four clients with their hooks, senders, doors and the post office do random things
// (turns, mail and crashes) at the same time, and holds:
//
//   - P8: for an idle agent that has not seen mail that should wake it, a ring is outstanding or the user was told;
//     hours later the agent has seen the mail, or the user was told;
//   - nothing is shown twice in a session, except mail that could not be marked when it was shown, or whose turn was
//     interrupted before the model answered;
//   - the user is told of the same mail once, whoever finds it waiting;
//   - no agent is rung unanswered more often than its budget allows, nor twice at a time (wake's TestP8_Random tests
//     that no agent is rung while it works);
//   - no turn continues more often than the client lets it; nothing ever breaks a client's rules.
//
// A seed repeats the same steps. Concurrent steps may interleave differently, so reproducing a failure may need
// -count.
func TestP8_Together(t *testing.T) {
	n := *histories / patience
	if testing.Short() {
		n /= 5
	}
	for seed := range n {
		if *history >= 0 && seed != *history {
			continue
		}
		synctest.Test(t, func(t *testing.T) { live(t, uint64(seed)) })
		if t.Failed() {
			return
		}
	}
}

// live lives through one history.
func live(t *testing.T, seed uint64) {
	w := newWorld(t, seed)
	defer func() {
		w.close(false)
		if t.Failed() {
			t.Logf("replay with -history %d:\n%s", seed, strings.Join(w.log, "\n"))
		}
	}()
	for range 30 {
		w.step()
		if w.rand.IntN(4) == 0 {
			w.check()
		}
		if t.Failed() {
			return
		}
	}
	w.settle()
}

func (w *world) step() {
	p := w.players[w.rand.IntN(len(w.players))]
	switch w.rand.IntN(25) {
	case 0, 1, 2, 3, 4, 5:
		w.sendSomething()
	case 6, 7, 8:
		w.begin(p)
	case 9, 10, 11:
		w.during(func() { w.turnEnds(p) })
	case 12, 13:
		if p.inTurn {
			w.during(func() { p.Tool("Bash", "ls"); w.note("%s ran a tool", p.name) })
		}
	case 14:
		if p.inTurn {
			w.parallel(p)
		}
	case 15:
		w.exit(p)
	case 16:
		w.note("%s is killed", p.name)
		w.dies(p)
	case 17:
		w.reopen(w.rand.IntN(2) == 0)
	case 18:
		w.down = !w.down
		w.note("down: %v", w.down)
	case 19:
		w.shut = !w.shut && !w.unmarked
		w.note("shut: %v", w.shut)
	case 20:
		w.unmarked = !w.unmarked && !w.shut
		w.note("unmarked: %v", w.unmarked)
	case 21:
		w.pass(time.Duration(w.rand.IntN(400)) * time.Second)
	case 22, 23, 24:
		w.doorChanges(p)
	}
	synctest.Wait()
	w.answer()
}

func (w *world) doorChanges(p *player) {
	d := []*door{p.socket, p.exec}[w.rand.IntN(2)]
	if d == nil {
		return
	}
	w.mu.Lock()
	d.does = behaviour(w.rand.IntN(3))
	d.takes = []time.Duration{0, 0, time.Second, 3 * time.Minute}[w.rand.IntN(4)]
	w.mu.Unlock()
	w.note("%s of %s now does %d in %v", d.kind, p.name, d.does, d.takes)
}

// during runs f while mail is sent, or the post office crashes.
func (w *world) during(f func()) {
	if w.calm || w.rand.IntN(2) == 0 {
		f()
		return
	}
	var both sync.WaitGroup
	yields, crash := w.rand.IntN(30), w.rand.IntN(6) == 0
	both.Go(func() {
		for range yields {
			runtime.Gosched()
		}
		if crash {
			w.reopen(true)
			return
		}
		w.sendSomething()
	})
	f()
	both.Wait()
}

func (w *world) sendSomething() {
	w.mu.Lock()
	p := w.players[w.rand.IntN(len(w.players))]
	from := []mail.Name{mail.User, "nobody", w.players[w.rand.IntN(len(w.players))].name}[w.rand.IntN(3)]
	to := []string{string(p.name), string(p.name), string(p.name), "role:builder", "orchestrator", "all",
		"project:x"}[w.rand.IntN(7)]
	typ := []mail.Type{mail.Question, mail.TaskAssigned, mail.Answer, mail.Status, mail.Custom, mail.TaskDone,
		mail.Cancel}[w.rand.IntN(7)]
	d := mail.Draft{To: mail.Recipients{to}, Type: string(typ),
		Body: strings.Repeat("word ", 1+w.rand.IntN(4)*w.rand.IntN(500))}
	if w.rand.IntN(5) == 0 {
		d.Priority = string(mail.Urgent)
	}
	w.mu.Unlock()
	sent, err := w.as(from).Send(context.Background(), d)
	if err == nil {
		w.note("%s %s of %s to %s: %s", typ, d.Priority, from, to, sent.ID)
	}
}

// begin begins a turn, in an existing, resumed or new session.
func (w *world) begin(p *player) {
	if !p.running {
		source := "resume"
		if p.Session == "" || w.rand.IntN(2) == 0 {
			w.session++
			p.Session, source = fmt.Sprint("s", w.session), "startup"
		}
		p.process = fmt.Sprint(p.name, ".", w.rand.Int32())
		w.sets(p, true)
		w.note("%s (%s) starts session %s: %s", p.name, p.Client.Name, p.Session, source)
		p.Start(source)
	}
	p.inTurn = true
	w.note("%s begins a turn", p.name)
	w.during(func() { p.Prompt("go on") })
}

func (w *world) sets(p *player, running bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p.running, w.alive[p.process] = running, running
}

func (w *world) turnEnds(p *player) {
	if !p.inTurn {
		return
	}
	p.inTurn = false
	n := p.End()
	w.note("%s ended a turn, which went on %d times", p.name, n)
}

// parallel runs the hooks of several tool calls at the same time.
func (w *world) parallel(p *player) {
	var tools sync.WaitGroup
	var mu sync.Mutex
	reads := p.Reads
	for range 3 {
		each := hooktest.Harness{Client: p.Client, Run: p.Run, Session: p.Session, Dir: p.Dir,
			Reads: func(text string) {
				mu.Lock()
				defer mu.Unlock()
				reads(text)
			}}
		tools.Go(func() { each.After("Bash", "ls") })
	}
	tools.Wait()
	w.note("%s ran three tools", p.name)
}

func (w *world) exit(p *player) {
	if !p.running {
		return
	}
	reason := []string{"prompt_input_exit", "other", "user_exit"}[w.rand.IntN(3)]
	w.note("%s exits: %s", p.name, reason)
	p.Exit(reason)
	w.dies(p)
}

func (w *world) dies(p *player) {
	p.inTurn = false
	w.sets(p, false)
}

// answer lets the agents that a door has woken work.
func (w *world) answer() {
	for _, p := range w.players {
		w.mu.Lock()
		woken := p.woken && (p.running || p.exec != nil)
		p.woken = false
		w.mu.Unlock()
		if woken && !p.inTurn {
			w.begin(p)
			w.turnEnds(p)
		}
	}
}

// pass lets time pass.
func (w *world) pass(d time.Duration) {
	w.note("%s go by", d)
	for part := max(d/24, time.Second); d > 0; d -= part {
		time.Sleep(part)
		synctest.Wait()
		w.answer()
	}
}

// check checks P8 for the agents that are idle now.
func (w *world) check() {
	time.Sleep(2 * time.Second) // a ring is not due instantly
	synctest.Wait()
	due := 0
	for _, a := range w.idle() {
		if left := w.untold(a); len(left) > 0 {
			due++
			w.note("  %s has %v unseen", a, left)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.outstanding < due {
		w.Errorf("%d are idle over mail that should wake them and of which the user was not told; rings are "+
			"outstanding for %d", due, w.outstanding)
	}
	w.checkBudget()
}

// settle lets hours pass in which only the doors, and the agents that they wake, act, and checks what became of all
// mail.
func (w *world) settle() {
	for _, p := range w.players {
		w.turnEnds(p)
	}
	w.check()
	w.down, w.shut, w.unmarked, w.calm = false, false, false, true
	w.note("all is well")
	w.pass(4 * time.Hour)
	for _, a := range w.idle() {
		if left := w.untold(a); len(left) > 0 {
			w.Errorf("in the end %s has not seen %v, and the user was not told", a, left)
		}
	}
	w.check()
	w.checkNotices()
	for _, p := range w.players {
		for _, f := range p.Faults {
			w.Errorf("a hook broke the client's rules: %s", f)
		}
		if p.Forced > 0 {
			w.Errorf("%s had to end %d turns by force", p.name, p.Forced)
		}
	}
}

// idle returns the agents that are idle in a session, or could be rung at any time.
func (w *world) idle() (names []mail.Name) {
	list, err := mail.Roster(context.Background(), w.as(mail.User))
	w.must(err)
	for _, a := range list {
		if policy.MayRing(a.State) && (a.State == mail.Idle && a.Session != "" || w.doors.Covers(a.Name, a.Roles)) {
			names = append(names, a.Name)
		}
	}
	return names
}

// untold returns the mail that should wake an agent, has not been shown to it, and of which the user was not told.
func (w *world) untold(n mail.Name) (ids []mail.ID) {
	brief := w.notices()[n]
	// As the ringer sees it: mail held for a role wakes one agent, even if several have had it.
	for _, u := range w.room.Load().Unwoken(w.doors.Covers) {
		for _, m := range u.Mail {
			if u.Agent == n && !slices.ContainsFunc(brief, func(of []mail.ID) bool {
				return slices.Contains(of, m.ID)
			}) {
				ids = append(ids, m.ID)
			}
		}
	}
	return ids
}

// notice is a message's metadata about mail that an agent does not see.
type notice struct {
	Agent    mail.Name `json:"agent"`
	Messages []mail.ID `json:"messages"`
}

// notices returns the mail of which the user was told, by agent.
func (w *world) notices() map[mail.Name][][]mail.ID {
	page, err := w.as(mail.User).Inbox(context.Background(), mail.InboxQuery{Limit: mail.MaxLimit})
	w.must(err)
	out := make(map[mail.Name][][]mail.ID)
	for _, it := range page.Messages {
		var brief struct {
			Turn notice `json:"turn"`
			Wake notice `json:"wake"`
		}
		if it.From != mail.FromSystem || jsonx.UnmarshalLenient([]byte(it.Metadata), &brief) != nil {
			continue
		}
		out[brief.Turn.Agent] = append(out[brief.Turn.Agent], brief.Turn.Messages)
		out[brief.Wake.Agent] = append(out[brief.Wake.Agent], brief.Wake.Messages)
	}
	delete(out, "")
	return out
}

// checkNotices checks that the user was not told twice of the same mail.
func (w *world) checkNotices() {
	for agent, all := range w.notices() {
		for i, of := range all {
			if slices.ContainsFunc(all[:i], func(before []mail.ID) bool { return slices.Equal(before, of) }) {
				w.Errorf("the user was told twice that %s does not see %v", agent, of)
			}
		}
	}
}

// inVain returns the rings of an agent that it did not answer before the next one, according to the journal.
func (w *world) inVain(agent mail.Name, all []rung) []rung {
	room := w.room.Load()
	watch, err := room.As(mail.System).Watch(w.Context(), 0)
	if err != nil {
		w.Fatal(err)
	}
	defer watch.Close()
	given := make(map[mail.ID][]time.Time)
	for at := mail.Seq(0); at < room.Shown(); {
		events, err := watch.Next(w.Context())
		if err != nil {
			w.Fatal(err)
		}
		for _, e := range events {
			at = e.Seq
			if r := e.Receipt; r != nil && r.Reader == mail.AgentAddress(agent) &&
				(r.Mark == mail.MarkPresented || r.Mark == mail.MarkRead) {
				given[r.Message] = append(given[r.Message], e.At.Std())
			}
		}
	}
	var out []rung
	for i, r := range all {
		answers := func(at time.Time) bool {
			return !at.Before(r.at.Truncate(time.Millisecond)) && (i+1 == len(all) || !at.After(all[i+1].at))
		}
		if !slices.ContainsFunc(r.about, func(id mail.ID) bool { return slices.ContainsFunc(given[id], answers) }) {
			out = append(out, r)
		}
	}
	return out
}

// checkBudget counts rings without effect, except those that a crash kept from being recorded.
func (w *world) checkBudget() {
	for agent, all := range w.rings {
		all = w.inVain(agent, all)
		for i, last := range all {
			since := func(at time.Time) bool {
				return last.at.Sub(at) < policy.BudgetSpan-time.Second && !at.After(last.at)
			}
			limit := w.budget
			if last.urgent {
				limit *= 2
			}
			for _, at := range w.lost {
				if since(at) {
					limit++
				}
			}
			within := 0
			for _, r := range all[:i+1] {
				if since(r.at) {
					within++
				}
			}
			if within > limit {
				w.Errorf("%s was rung %d times in the hour before %s, and may be %d times", agent, within, last.at,
					limit)
			}
		}
	}
}

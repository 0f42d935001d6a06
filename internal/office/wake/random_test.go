package wake

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
	"pennypost/internal/policy"
)

var (
	seeds = flag.Int("seeds", 60, "how many random histories TestP8_Random tries")
	only  = flag.Int("seed", -1, "the only one that it tries")
)

// TestP8_Random makes random changes, and checks promise P8 whenever nothing moves: for all mail that should wake an
// agent, and that the agent has not looked at though it is not working, a ring is outstanding or the user was told;
// there are never two rings at a time; budgets are kept, even across restarts; no working agent is rung.
func TestP8_Random(t *testing.T) {
	n := *seeds
	if testing.Short() {
		n /= 10
	}
	for seed := range n {
		if *only >= 0 && seed != *only {
			continue
		}
		synctest.Test(t, func(t *testing.T) {
			h := newHistory(t, uint64(seed))
			defer h.end()
			for range 60 {
				h.step()
				h.check()
				if t.Failed() {
					break
				}
			}
			h.settle()
			if t.Failed() {
				t.Fatalf("seed %d:\n%s", seed, strings.Join(h.log, "\n"))
			}
		})
		if t.Failed() {
			return
		}
	}
}

// history is a random sequence of events.
type history struct {
	*fixture
	rand    *rand.Rand
	budget  int
	one     *watchful // the orchestrator's door
	two     *watchful // the builders' first door
	three   *watchful // and their second
	log     []string
	working map[mail.Name]bool // agents that the doors must not ring
	given   map[mail.ID]time.Time
}

// watchful is a bell that reports wrong rings.
type watchful struct {
	bell
	h *history
}

func (w *watchful) Ring(ctx context.Context, r Ring) error {
	w.h.mu.Lock()
	if w.h.working[r.Agent] {
		w.h.Errorf("%s was rung while it works", r.Agent)
	}
	w.h.mu.Unlock()
	return w.bell.Ring(ctx, r)
}

func newHistory(t *testing.T, seed uint64) *history {
	h := &history{rand: rand.New(rand.NewPCG(seed, 1)), working: make(map[mail.Name]bool),
		given: make(map[mail.ID]time.Time)}
	h.one, h.two, h.three = &watchful{h: h}, &watchful{h: h}, &watchful{h: h}
	h.one.kind, h.two.kind, h.three.kind = "exec", "exec", "webhook"
	h.budget = 3 + h.rand.IntN(10)
	h.fixture = &fixture{T: t, doors: NewDoors(
		Entry{For: mail.ToOrchestrator, Wakers: []Waker{h.one}, Budget: h.budget},
		Entry{For: "role:builder", Wakers: []Waker{h.two, h.three}, Budget: h.budget},
	)}
	h.start()
	for _, n := range h.agents() {
		role := "builder"
		if n == "lead" {
			role = "orchestrator"
		}
		h.register(mail.Presence{Name: n, Roles: []string{role}})
	}
	h.register(mail.Presence{Name: "worker"})
	return h
}

func (h *history) agents() []mail.Name { return []mail.Name{"lead", "b1", "b2"} }

func (h *history) doorsOf(n mail.Name) []*watchful {
	if n == "lead" || n == mail.Orchestrator {
		return []*watchful{h.one}
	}
	return []*watchful{h.two, h.three}
}

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

func (h *history) step() {
	n := pick(h.rand, h.agents()...)
	w := pick(h.rand, h.one, h.two, h.three)
	did := ""
	switch h.rand.IntN(12) {
	case 0, 1, 2:
		to := pick(h.rand, "orchestrator", "role:builder", string(n), "all")
		typ := pick(h.rand, "task-done", "question", "task-assigned", "status", "review-result")
		sent := h.send(to, typ, mail.Draft{Priority: pick(h.rand, "", "", "", "urgent"),
			TTLSeconds: pick[int64](h.rand, 0, 0, 0, 600)})
		did = fmt.Sprint("send ", sent.ID, " ", typ, " to ", to)
	case 3, 4:
		h.to(n, mail.Working)
		did = fmt.Sprint(n, " begins a turn")
	case 5, 6:
		h.to(n, mail.Idle)
		did = fmt.Sprint(n, " is idle")
	case 7:
		s := pick(h.rand, mail.Gone, mail.Frozen)
		h.to(n, s)
		did = fmt.Sprint(n, " is ", s)
	case 8:
		did = h.reads(n)
	case 9:
		w.set(pick(h.rand, nil, nil, errBell))
		did = "a door changes"
	case 10:
		w.mu.Lock()
		w.takes = pick(h.rand, 0, 0, time.Second, 3*time.Minute)
		w.mu.Unlock()
		did = "a door has another speed"
	case 11:
		h.restart()
		did = "restart"
	}
	synctest.Wait()
	d := pick(h.rand, 0, 0, 10*time.Millisecond, moment, time.Minute, 7*time.Minute, time.Hour)
	h.log = append(h.log, fmt.Sprintf("%s %s, then %v", time.Now().Format("15:04:05.000"), did, d))
	h.pass(d)
}

// to changes the state of an agent.
func (h *history) to(n mail.Name, s mail.State) {
	if s == mail.Working {
		synctest.Wait()
		h.register(mail.Presence{Name: n, State: s})
		synctest.Wait()
	}
	h.mu.Lock()
	h.working[n] = s == mail.Working
	h.mu.Unlock()
	h.register(mail.Presence{Name: n, State: s})
}

// reads makes an agent read some of its mail, or be shown it, or neither.
func (h *history) reads(n mail.Name) string {
	page, err := h.room.As(mail.User).Inbox(h.Context(), mail.InboxQuery{Agent: n, Limit: mail.MaxLimit})
	h.must(err)
	var receipts []mail.Receipt
	k := pick(h.rand, mail.MarkRead, mail.MarkPresented, mail.MarkArchived, mail.MarkUnread)
	all := h.rand.IntN(2) == 0
	for _, it := range page.Messages {
		if all || h.rand.IntN(2) == 0 {
			receipts = append(receipts, mail.Receipt{Message: it.ID, Reader: mail.AgentAddress(n), Mark: k,
				Door: "test"})
			if answers(k) {
				h.given[it.ID] = time.Now()
			}
		}
	}
	_, err = h.room.Note(h.Context(), receipts)
	h.must(err)
	return fmt.Sprint(n, " marks ", len(receipts), " of ", len(page.Messages), " ", k)
}

// unread returns the mail that should wake an agent, found independently of the Ringer.
func (h *history) unread(n mail.Name) (ids []mail.ID) {
	user := h.room.As(mail.User)
	page, err := user.Inbox(h.Context(), mail.InboxQuery{Agent: n, Limit: mail.MaxLimit})
	h.must(err)
	for _, it := range page.Messages {
		full, err := user.Message(h.Context(), it.ID)
		h.must(err)
		for _, d := range full.Deliveries {
			if d.Agent == n && d.Wake != mail.WakeNone && (d.State == mail.Queued || d.State == mail.Notified) {
				ids = append(ids, it.ID)
			}
		}
	}
	return ids
}

// reported returns the messages named in notices to the user.
func reported(t *testing.T, notices []mail.Item) map[mail.ID]bool {
	t.Helper()
	out := make(map[mail.ID]bool)
	for _, it := range notices {
		var said struct {
			Wake struct {
				Messages []mail.ID `json:"messages"`
			} `json:"wake"`
		}
		if err := jsonx.Unmarshal(it.Metadata, &said); err != nil {
			t.Fatal(err)
		}
		for _, id := range said.Wake.Messages {
			out[id] = true
		}
	}
	return out
}

// rungFor returns the messages named to a door.
func (h *history) rungFor(n mail.Name) map[mail.ID]bool {
	out := make(map[mail.ID]bool)
	for _, w := range h.doorsOf(n) {
		rings, _ := w.all()
		for _, r := range rings {
			for _, id := range r.Messages {
				out[id] = true
			}
		}
	}
	return out
}

func (h *history) check() {
	h.Helper()
	h.pass(gather + silence)
	agents, err := mail.Roster(h.Context(), h.room.As(mail.User))
	h.must(err)
	brief := reported(h.T, h.notices())
	for _, a := range agents {
		if a.Name == "worker" || !policy.MayRing(a.State) {
			continue
		}
		for _, id := range h.unread(a.Name) {
			if !brief[id] && !h.isRung(a.Name) {
				h.Errorf("%s is %s and has %s unread: no ring is outstanding, and the user was not told", a.Name,
					a.State, id)
			}
		}
	}
	for _, w := range []*watchful{h.one, h.two, h.three} {
		if w.rungTwice() {
			h.Errorf("two rings of one agent at a time")
		}
	}
	h.checkBudget()
}

func (h *history) checkBudget() {
	for _, n := range append(h.agents(), mail.Orchestrator, "") {
		type rung struct {
			at     time.Time
			urgent bool
		}
		var all []rung
		for _, w := range h.doorsOf(n) {
			rings, when := w.all()
			for i, r := range rings {
				vain := !slices.ContainsFunc(r.Messages, func(id mail.ID) bool { return !h.given[id].Before(when[i]) })
				if r.Agent == n && vain {
					all = append(all, rung{when[i], r.Urgent > 0})
				}
			}
		}
		// of two at the same instant the urgent one may have been over the budget
		slices.SortFunc(all, func(a, b rung) int {
			if a.at.Equal(b.at) && a.urgent != b.urgent {
				return map[bool]int{true: 1, false: -1}[a.urgent]
			}
			return a.at.Compare(b.at)
		})
		for i, last := range all {
			within := 0
			for _, r := range all[:i+1] {
				if last.at.Sub(r.at) < policy.BudgetSpan-gather {
					within++
				}
			}
			if limit := h.budget; !last.urgent && within > limit || within > 2*limit {
				h.Errorf("%q was rung %d times within an hour of %s, with a budget of %d", n, within, last.at, limit)
			}
		}
	}
}

// settle lets the doors work and all agents be idle for long enough, and checks that all mail was rung for or
// reported.
func (h *history) settle() {
	for _, w := range []*watchful{h.one, h.two, h.three} {
		w.set(nil)
		w.mu.Lock()
		w.takes = 0
		w.mu.Unlock()
	}
	for _, n := range h.agents() {
		h.to(n, mail.Idle)
	}
	h.pass(8 * time.Hour)
	brief := reported(h.T, h.notices())
	for _, n := range h.agents() {
		rung := h.rungFor(n)
		for _, id := range h.unread(n) {
			if !brief[id] && !rung[id] {
				h.Errorf("in the end %s has %s unread, for which no door was rung and of which the user was not told",
					n, id)
			}
		}
	}
	if n := h.waits(); n != 0 {
		h.Errorf("in the end %d rings are outstanding, want all answered or given up", n)
	}
}

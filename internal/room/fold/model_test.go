package fold_test

import (
	"flag"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pennypost/internal/mail"
	"pennypost/internal/policy"
	"pennypost/internal/room/fold"
	"pennypost/internal/room/fold/foldtest"
)

var (
	histories   = flag.Int("histories", 5000, "random histories of TestModel")
	firstSeed   = flag.Uint64("history", 1, "the seed of the first of them")
	historyActs = flag.Int("acts", 60, "how many acts a history has")
)

// TestModel plays random histories of a room to a state and to a naive room, and compares the two in everything
// visible: from time to time, at the end, and when the state is replayed from the journal, from which checkpoints
// have released events. A failing history is reported in the fewest acts.
func TestModel(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // a history is small, and soon over
	began := time.Now()
	var played atomic.Int64
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for !t.Failed() {
				n := played.Add(1) - 1
				if n >= int64(*histories) {
					return
				}
				seed := *firstSeed + uint64(n)
				h := history(seed, *historyActs)
				if wrong := play(h, seed); wrong != "" {
					h = reduced(h, func(less []act) bool { return play(less, seed) != "" })
					t.Errorf("history %d: %s\nthe shortest that fails: %s\n%s", seed, wrong, play(h, seed), tell(h))
				}
			}
		})
	}
	workers.Wait()
	took := time.Since(began)
	n := min(played.Load(), int64(*histories))
	t.Logf("%d histories of %d acts in %v: %.0f a second", n, *historyActs, took.Round(time.Millisecond),
		float64(n)/took.Seconds())
}

// stage is where a history is played.
type stage struct {
	*fold.State
	naive   *naive
	journal []mail.Event
	seq     mail.Seq
	now     mail.Time
	given   map[mail.ID]bool // ids
	due     bool             // the last checkpoint has not compacted the journal yet
	wrong   string
}

// play returns the first error in a history, "" if there is none. It checks more for some seeds, which takes longer.
func play(acts []act, seed uint64) (wrong string) {
	defer func() {
		if p := recover(); p != nil {
			wrong = fmt.Sprint("panic: ", p)
		}
	}()
	g := &stage{State: fold.NewState(policy.TTL{}), naive: newNaive(), given: map[mail.ID]bool{}}
	thorough := seed%500 == 0
	for i := range acts {
		a := &acts[i]
		g.now = max(g.now, a.At)
		g.act(a, thorough)
		if g.wrong == "" && (thorough || (uint64(i)+seed)%60 == 0) {
			g.wrong = g.naive.differs(g.State, g.now)
		}
		if g.wrong != "" {
			return fmt.Sprintf("act %d: %s", i+1, g.wrong)
		}
	}
	if wrong := g.naive.differs(g.State, g.now); wrong != "" {
		return "in the end: " + wrong
	}
	live := g.State
	g.State = replayed(g.journal)
	if wrong := g.naive.differs(g.State, g.now); wrong != "" {
		return "made anew: " + wrong
	}
	for _, s := range []*fold.State{live, g.State} {
		if len(s.AtDialogs()) != len(slices.DeleteFunc(slices.Clone(s.Listed), func(m *fold.Member) bool {
			return m.Standing() != mail.Asking
		})) {
			return fmt.Sprintf("%d are found at dialogs", len(s.AtDialogs()))
		}
	}
	if thorough {
		if diff := cmp.Diff(foldtest.Dump(live, g.now), foldtest.Dump(g.State, g.now)); diff != "" {
			return "made anew (-live +anew): " + diff
		}
		return foldtest.Miscounted(g.State, g.now)
	}
	return ""
}

func (g *stage) act(a *act, thorough bool) {
	switch a.What {
	case trims, erases, finishes: // a room does one thing at a time to its files
		g.compact()
	}
	switch a.What {
	case "":
		if g.refused(a) {
			return
		}
		g.do(a.Event, thorough)
	case repeats:
		if n := len(g.journal); n > 0 && (g.journal[n-1].Checkpoint == nil || g.journal[n-1].Checkpoint.After == 0) {
			g.do(g.journal[n-1], thorough)
		}
	case trims:
		g.trim(a.IDs)
	case marks:
		g.mark()
		g.due = true
	case compacts:
		g.compact()
	case erases:
		for _, id := range a.IDs {
			g.erase(id)
		}
	case finishes:
		g.finish()
	case reopens:
		g.State = replayed(g.journal)
	}
}

// refused reports whether no room journals an event, because its checks come first.
func (g *stage) refused(a *act) bool {
	switch {
	case a.Message != nil: // an id is given once
		given := g.given[a.Message.ID] && g.naive.letter(a.Message.ID) == nil
		g.given[a.Message.ID] = true
		return given
	case a.Agent != nil: // a name that leads to one mailbox is not given to another
		o := g.naive.find(a.Agent.Renamed)
		if a.Agent.Merge { // a room journals again the marks that both have made
			p := g.naive.find(a.Agent.Name)
			return o != nil && p != nil && o != p && slices.ContainsFunc(g.naive.letters, func(l *letter) bool {
				return l.isMarked(o) && l.isMarked(p)
			})
		}
		return o != nil && o != g.naive.agent(a.Agent.Name)
	}
	return false
}

// do appends an event to the journal and applies it to both.
func (g *stage) do(e mail.Event, thorough bool) {
	g.seq++
	e.Seq, e.At = g.seq, g.now
	var before []string
	if thorough {
		before = foldtest.Dump(g.State, g.now)
	}
	g.journal = append(g.journal, e)
	counted, want := g.Apply(&e), g.naive.apply(&e)
	switch {
	case counted != want:
		g.wrong = fmt.Sprintf("the event %d counts: %t, want %t", e.Seq, counted, want)
	case !counted && thorough:
		if diff := cmp.Diff(before[1:], foldtest.Dump(g.State, g.now)[1:]); diff != "" {
			g.wrong = "an event that does not count has changed something: " + diff
		}
	case counted && thorough && g.isAgain(&e):
		if diff := cmp.Diff(before[1:], foldtest.Dump(g.State, g.now)[1:]); diff != "" {
			g.wrong = "an event that came twice has changed something: " + diff
		}
	}
}

// isAgain reports whether the event repeats the one before it, and has nothing to do.
func (g *stage) isAgain(e *mail.Event) bool {
	n := len(g.journal)
	if n < 2 || g.journal[n-2].At != e.At {
		return false
	}
	was := g.journal[n-2]
	was.Seq = e.Seq
	changes := e.Agent != nil && !e.Agent.Retired && e.Agent.Renamed == "" || e.Receipt != nil &&
		e.Receipt.Mark != mail.MarkArchived && e.Receipt.Mark != mail.MarkUnread
	return !changes && cmp.Equal(was, *e)
}

// replayed returns the state that follows from a journal, as a room finds it when it is opened.
func replayed(journal []mail.Event) *fold.State { return replayedWith(journal, nil) }

func replayedWith(journal []mail.Event, names *mail.Checkpoint) *fold.State {
	s := fold.NewState(policy.TTL{})
	if len(journal) > 0 {
		s.End = journal[len(journal)-1].Seq
	}
	if names != nil {
		s.NameAll(names)
	}
	for i := range journal {
		e := journal[i]
		if c := e.Checkpoint; c != nil && (names == nil || c.After > names.After) && s.Divides(c) {
			return replayedWith(journal, c)
		}
		s.Apply(&e)
	}
	return s
}

// trim trims those of some messages for which no one waits.
func (g *stage) trim(ids []mail.ID) {
	ids = slices.DeleteFunc(slices.Clone(ids), func(id mail.ID) bool {
		l, r := g.naive.letter(id), g.Records[id]
		if l == nil || r == nil {
			return true
		}
		keep := g.naive.waitedFor(l, g.now)
		if got := g.Seen(here).ToRetain(r, g.now, g.seq).Unsettled; got != keep {
			g.wrong = fmt.Sprintf("%s is unsettled: %t, want %t", id, got, keep)
		}
		return keep
	})
	if len(ids) == 0 {
		return
	}
	for _, e := range append(g.SettledGoing(ids, g.now), g.Spend(ids, g.now)...) {
		g.do(e, false)
	}
	g.do(mail.Event{Checkpoint: &mail.Checkpoint{Trimmed: ids}}, false)
}

// mark journals a checkpoint.
func (g *stage) mark() { g.do(mail.Event{Checkpoint: g.Checkpoint()}, false) }

// compact removes from the journal the events that its last checkpoint releases, and those that went with their
// messages.
func (g *stage) compact() {
	if !g.due {
		return
	}
	g.due = false
	mark := g.Marked
	g.journal = slices.DeleteFunc(g.journal, func(e mail.Event) bool {
		switch {
		case e.Seq >= mark:
			return false
		case g.IsVoid(e.Seq):
			return true
		case e.Message != nil:
			return g.HotAt(e.Message.ID, mark) == nil
		case e.Receipt != nil:
			return !g.Counts(e.Receipt, mark)
		case e.Settled != nil:
			return g.HotAt(e.Settled.Message, mark) == nil
		case e.Erased != nil:
			_, pending := g.Erasing[e.Erased.Message]
			return !pending && g.Erased[e.Erased.Message] <= mark
		case e.Checkpoint != nil:
			return !g.Spent.KeptIn(&e, g.KeyOf)
		case e.Schedule != nil:
			return !g.KeepsSchedule(e.Schedule)
		}
		return true
	})
	g.Archived(mark)
}

// erase records that a message must be erased. The question that it answered stays answered.
func (g *stage) erase(id mail.ID) {
	if r := g.Records[id]; r != nil {
		if q := g.Records[r.Msg.ReplyTo()]; q != nil && q.Settled != nil && q.Settled.Answer == id {
			g.do(mail.Event{Settled: q.Settled}, false)
		}
	}
	g.do(mail.Event{Erased: &mail.Erasure{Message: id, By: mail.User}}, false)
}

// finish removes messages to be erased from the journal.
func (g *stage) finish() {
	for id := range g.naive.erasing {
		if !g.Owes(id, "") {
			g.wrong = fmt.Sprintf("%s need not be erased", id)
			return
		}
		var in []mail.Seq
		for _, e := range g.journal {
			if fold.Holds(&e, id) {
				in = append(in, e.Seq)
			}
		}
		for _, e := range g.Respend(g.now, in...) {
			g.do(e, false)
		}
		g.mark()
		g.journal = slices.DeleteFunc(g.journal, func(e mail.Event) bool {
			return e.Message != nil && e.Message.ID == id || e.Receipt != nil && e.Receipt.Message == id ||
				fold.Holds(&e, id) || e.Schedule != nil && e.Schedule.ID == id || e.Seq < g.Marked && g.IsVoid(e.Seq)
		})
		delete(g.Remains, id)
		g.do(mail.Event{Erased: &mail.Erasure{Message: id, By: mail.User, Done: true}}, false)
	}
}

// waitedFor reports whether a letter must not go to the archive: it is an open question or replies to one, is for a
// role and unread by its holder, or the user has put it off.
func (n *naive) waitedFor(l *letter, now mail.Time) bool {
	about := n.letter(l.ReplyTo)
	return l.open() || about != nil && about.open() || l.marksOf(n.person(mail.User)).put > now ||
		slices.ContainsFunc(l.seats, func(s *seat) bool {
			return s.role != "" && !l.withdrawn() && !policy.Past(l.expiry(s.address, nil), now) &&
				(s.holder() == nil || !l.done(s.holder()))
		})
}

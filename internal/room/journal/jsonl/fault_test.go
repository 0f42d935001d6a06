package jsonl

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"pennypost/internal/mail"
	"pennypost/internal/room/journal"
)

const memPath = "/room"

func openMem(d *memDisk) (*Journal, error) { return Open(memPath, Options{disk: d, watch: -1}) }

// note is a message whose subject tells compaction its fate. Its body is unique.
func note(n int) mail.Event {
	at := mail.Time(1778414400000 + n)
	if n%2 == 0 {
		at += 40 * 24 * 3600 * 1000
	}
	return mail.Event{At: at, Message: &mail.Message{
		ID: noteID(n), Type: mail.Status, From: "agent:a", To: []mail.Address{"all"},
		Subject: []string{"keep", "archive", "drop"}[n%3], Body: secret(n),
	}}
}

func noteID(n int) mail.ID { return mail.ID(fmt.Sprintf("note_%d_", n)) }

func secret(n int) string { return fmt.Sprintf("secret-%d-of-nobody", n) }

func noteFate(e mail.Event) journal.Fate {
	if e.Message == nil {
		return journal.Keep
	}
	return map[string]journal.Fate{"keep": journal.Keep, "archive": journal.Archive,
		"drop": journal.Drop}[e.Message.Subject]
}

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

// clerk works on a journal and remembers the answers.
type clerk struct {
	told     map[int]mail.Seq // acknowledged notes, with their sequence numbers
	tried    map[int]bool     // notes whose append failed: they may exist or not
	erased   map[int]bool     // acknowledged erasures
	erasing  map[int]bool     // erasures begun
	compacts int              // begun
	next     int
	poison   error
}

func newClerk() *clerk {
	return &clerk{told: make(map[int]mail.Seq), tried: make(map[int]bool), erased: make(map[int]bool),
		erasing: make(map[int]bool)}
}

func (c *clerk) append(t *testing.T, j *Journal, n int) {
	t.Helper()
	var events []mail.Event
	for i := range n {
		events = append(events, note(c.next+i))
	}
	last, err := j.Append(context.Background(), events...)
	if c.poison != nil && !errors.Is(err, c.poison) {
		t.Errorf("Append to a poisoned journal = %v, want %v", err, c.poison)
	}
	broken := j.Condition().Broken
	for i := range n {
		switch {
		case err == nil:
			c.told[c.next+i] = last - mail.Seq(n-1-i)
		case broken != nil: // otherwise none of it may be found
			c.tried[c.next+i] = true
		}
	}
	if err != nil {
		c.poison = broken
	}
	c.next += n
}

// compact compacts the journal, and appends a note meanwhile.
func (c *clerk) compact(t *testing.T, j *Journal) error {
	t.Helper()
	c.compacts++
	once := false
	return j.Compact(context.Background(), func(e mail.Event) journal.Fate {
		if !once {
			once = true
			c.append(t, j, 1)
		}
		return noteFate(e)
	})
}

func (c *clerk) erase(j *Journal, n int) error {
	c.erasing[n] = true
	_, err := j.Erase(context.Background(), noteID(n), func(e mail.Event) bool {
		return e.Message != nil && e.Message.ID == noteID(n)
	})
	if err == nil {
		c.erased[n] = true
	}
	return err
}

// work makes every kind of disk call.
func (c *clerk) work(t *testing.T, j *Journal) {
	c.append(t, j, 1)
	c.append(t, j, 8)
	_ = c.compact(t, j)
	c.append(t, j, 3)
	_ = c.erase(j, 1)  // archived by now
	_ = c.erase(j, 3)  // kept
	_ = c.erase(j, 11) // the last one
	c.append(t, j, 2)
	_ = c.compact(t, j)
	c.append(t, j, 1)
}

// check compares the content of a reopened journal with the clerk's memory.
func (c *clerk) check(t *testing.T, d *memDisk, j *Journal) {
	t.Helper()
	hot, last := c.hot(t, j)
	archived := make(map[int]int)
	for e, err := range j.Archived(t.Context(), 0, false) {
		if err != nil {
			t.Fatalf("Archived: %v", err)
		}
		archived[c.number(t, e)]++
	}
	for n, seq := range c.told {
		if last < seq && !c.erasing[n] {
			t.Errorf("note %d was acknowledged at %d, but the last event is %d", n, seq, last)
		}
		if at, ok := hot[n]; ok && at != seq {
			t.Errorf("note %d was acknowledged at %d and stands at %d", n, seq, at)
		}
		_, isHot := hot[n]
		switch copies := archived[n]; {
		case c.erased[n] && (isHot || copies > 0):
			t.Errorf("note %d was erased, and is there", n)
		case c.erasing[n]:
		case isHot && copies > 0 || copies > 1:
			t.Errorf("note %d is in the archive %d times, and in the journal: %v", n, copies, isHot)
		case n%3 == 0 && !isHot:
			t.Errorf("note %d is lost", n)
		case n%3 == 1 && !isHot && copies == 0:
			t.Errorf("note %d is neither in the journal nor in the archive", n)
		case n%3 == 2 && !isHot && c.compacts == 0:
			t.Errorf("note %d was dropped before any compaction", n)
		}
		if c.erased[n] {
			if names := d.holds(secret(n)); names != nil {
				t.Errorf("note %d was erased, and its text is in %v", n, names)
			}
		}
	}
	for n := range hot {
		if _, told := c.told[n]; !told && !c.tried[n] {
			t.Errorf("note %d was never sent", n)
		}
	}
	if names := d.files(tmpSuffix); names != nil {
		t.Errorf("left over after opening: %v", names)
	}
}

// hot returns the notes in the journal, with their sequence numbers.
func (c *clerk) hot(t *testing.T, j *Journal) (map[int]mail.Seq, mail.Seq) {
	t.Helper()
	hot := make(map[int]mail.Seq)
	cursor := j.Follow(0)
	defer cursor.Close()
	last := mail.Seq(0)
	for last < j.Last() {
		events, err := cursor.Next(t.Context())
		if err != nil {
			t.Fatalf("Next: %v", err)
		}
		for _, e := range events {
			if e.Seq <= last {
				t.Errorf("%d stands behind %d", e.Seq, last)
			}
			last = e.Seq
			if e.Message != nil {
				hot[c.number(t, e)] = e.Seq
			}
		}
	}
	return hot, last
}

func (c *clerk) number(t *testing.T, e mail.Event) int {
	t.Helper()
	var n int
	if e.Message != nil {
		fmt.Sscanf(string(e.Message.ID), "note_%d_", &n)
	}
	if e.Message == nil || e.Message.Body != secret(n) {
		t.Fatalf("at %d stands %+v, which nobody sent", e.Seq, e.Message)
	}
	return n
}

// goOn finishes erasures that were begun, then works again.
func (c *clerk) goOn(t *testing.T, d *memDisk, j *Journal) {
	t.Helper()
	c.poison = nil
	for n := range c.erasing {
		if err := c.erase(j, n); err != nil {
			t.Errorf("erasing note %d again: %v", n, err)
		}
	}
	last := j.Last()
	c.append(t, j, 2)
	if got := j.Last(); got != last+2 {
		t.Errorf("Last() = %d after two appends behind %d", got, last)
	}
	if err := c.compact(t, j); err != nil {
		t.Errorf("Compact: %v", err)
	}
	c.check(t, d, j)
	if v, err := j.Verify(t.Context()); err != nil {
		t.Errorf("Verify: %v", err)
	} else {
		for _, p := range v.Problems {
			if p.File != rejectedName && !strings.Contains(p.File, "foreign") {
				t.Errorf("Verify: %+v", p)
			}
		}
	}
}

// reopen opens the journal on a disk, which must always work, checks it, continues and checks again.
func (c *clerk) reopen(t *testing.T, d *memDisk) {
	t.Helper()
	for round := range 2 {
		j, err := openMem(d)
		if err != nil {
			t.Fatalf("open again: %v", err)
		}
		c.check(t, d, j)
		if round == 0 {
			c.goOn(t, d, j)
		}
		if err := j.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
}

// Every disk call fails, in each way, while the process lives on; then the journal is reopened.
func TestDiskFaults(t *testing.T) {
	tests := []struct {
		name  string
		what  fault
		calls int // how many fail
	}{
		{"fails", fails, 1},
		{"succeeds and says it failed", succeeds, 1},
		{"fails, and so do the next two", fails, 3},
		{"fails, and so do all others", fails, math.MaxInt32}, // as on a full disk
	}
	for _, test := range tests {
		for at := 1; ; at++ {
			d := newMemDisk()
			hit := ""
			d.fault = func(call int, op string) fault {
				if call < at || call >= at+test.calls {
					return works
				}
				if hit == "" {
					hit = op
				}
				return test.what
			}
			c := newClerk()
			j, err := openMem(d)
			if err == nil {
				c.work(t, j)
				if names := d.files(tmpSuffix); names != nil && hit != "remove" && test.calls == 1 {
					t.Errorf("left over: %v", names)
				}
				d.fault = nil // nothing may depend on closing
				if err := j.Close(); err != nil {
					t.Errorf("close: %v", err)
				}
			}
			if hit == "" {
				if at < 50 {
					t.Errorf("the work made only %d calls", at)
				}
				break
			}
			d = d.survive()
			c.reopen(t, d)
			if t.Failed() {
				t.Fatalf("when call %d (%s) %s", at, hit, test.name)
			}
		}
	}
}

// The power is cut before every disk call, and the disk is left in any state that is then possible.
func TestPowerCuts(t *testing.T) {
	states := uint64(20)
	if testing.Short() {
		states = 5
	}
	for at := 1; ; at++ {
		d := newMemDisk()
		hit := ""
		d.fault = func(call int, op string) fault {
			if call < at {
				return works
			}
			hit = op
			return dies
		}
		c := newClerk()
		if j, err := openMem(d); err == nil {
			c.work(t, j)
			j.Close()
		}
		if hit == "" {
			break
		}
		for seed := range states {
			rnd := rand.New(rand.NewPCG(seed, uint64(at)))
			c, d := c.fork(), d.crash(rnd)
			if seed%2 == 0 { // and again, during Open and later work
				d = c.cutAgain(t, d, rnd)
			}
			c.reopen(t, d)
			if t.Failed() {
				t.Fatalf("when the power was cut before call %d (state %d) after\n%s", at, seed,
					strings.Join(d.trace, "\n"))
			}
		}
	}
}

// cutAgain opens the journal, works, and cuts the power at any call.
func (c *clerk) cutAgain(t *testing.T, d *memDisk, rnd *rand.Rand) *memDisk {
	at := 1 + rnd.IntN(20)
	d.fault = func(call int, _ string) fault {
		if call < at {
			return works
		}
		return dies
	}
	c.poison = nil
	if j, err := openMem(d); err == nil {
		c.append(t, j, 1)
		_ = c.compact(t, j)
		j.Close()
	}
	c.poison = nil
	return d.crash(rnd)
}

// Lines that a killed process wrote and did not sync must be durable before another process shows them.
func TestSeenIsDurable(t *testing.T) {
	d := newMemDisk()
	j, err := openMem(d)
	if err != nil {
		t.Fatal(err)
	}
	d.fault = func(_ int, op string) fault {
		if op == "write" {
			return works
		}
		return dies
	}
	if _, err := j.Append(t.Context(), note(0)); err == nil {
		t.Fatal("Append succeeded without a sync")
	}
	j.Close()
	d = d.survive()
	if j, err = openMem(d); err != nil {
		t.Fatal(err)
	}
	seen := j.Last()
	j.Close()
	if seen != 1 {
		t.Fatalf("Last() = %d, want the event that was written before the kill", seen)
	}
	for seed := range uint64(20) {
		j, err := openMem(d.crash(newRand(seed)))
		if err != nil {
			t.Fatal(err)
		}
		if got := j.Last(); got != seen {
			t.Errorf("Last() = %d after a power cut, and was %d before", got, seen)
		}
		j.Close()
	}
}

// fork returns a copy of the clerk with its own memory.
func (c *clerk) fork() *clerk {
	f := newClerk()
	for n, seq := range c.told {
		f.told[n] = seq
	}
	for n := range c.tried {
		f.tried[n] = true
	}
	for n := range c.erased {
		f.erased[n] = true
	}
	for n := range c.erasing {
		f.erasing[n] = true
	}
	f.compacts, f.next = c.compacts, c.next
	return f
}

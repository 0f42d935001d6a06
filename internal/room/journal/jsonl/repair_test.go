package jsonl

import (
	"bytes"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pennypost/internal/mail"
)

// Lines out of order are set aside by Open, and Repair puts each of them back into its position.
func TestRepair(t *testing.T) {
	const n = 300
	chained := strings.SplitAfter(chainOf(n), "\n")[:n]
	older := strings.SplitAfter(linesOf(n), "\n")[:n]
	reversed := func(lines []string) string {
		lines = slices.Clone(lines)
		slices.Reverse(lines)
		return strings.Join(lines, "")
	}
	shuffled := func(lines []string) string {
		lines = slices.Clone(lines)
		rand.New(rand.NewPCG(1, 2)).Shuffle(n, func(i, k int) { lines[i], lines[k] = lines[k], lines[i] })
		return strings.Join(lines, "")
	}
	for name, content := range map[string]string{
		"reversed": reversed(chained), "shuffled": shuffled(chained),
		"version 1, reversed": reversed(older), "version 1, shuffled": shuffled(older),
		"the last line first":   chained[n-1] + strings.Join(chained[:n-1], ""),
		"lines twice":           strings.Join(chained, "") + strings.Join(chained[100:200], ""),
		"garbage glued to each": strings.ReplaceAll(reversed(chained), "\n", "#\n"),
	} {
		t.Run(name, func(t *testing.T) {
			want := chainOf(n)
			if strings.HasPrefix(name, "version 1") {
				want = linesOf(n)
			}
			d := diskWith(content)
			j, err := openMem(d)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { j.Close() }()
			before := j.Recovery().Events
			v, err := j.Repair(t.Context())
			if err != nil || v.Repaired != n-before {
				t.Errorf("Repair puts back %d lines, %v, want %d", v.Repaired, err, n-before)
			}
			if got := string(d.content(mainPath)); got != want {
				t.Errorf("the journal is not what it was: %d lines of %d", strings.Count(got, "\n"), n)
			}
			if name != "garbage glued to each" && (len(v.Problems) > 0 || len(d.content(rejectedPath)) > 0 ||
				j.Condition().Rejected > 0) {
				t.Errorf("after the repair: %d problems, %d bytes set aside, %+v", len(v.Problems),
					len(d.content(rejectedPath)), j.Condition())
			}
			c := newClerk()
			c.next = n
			c.append(t, j, 1)
			if hot, last := c.hot(t, j); len(hot) != n+1 || last != n+1 {
				t.Errorf("a follower sees %d events up to %d", len(hot), last)
			}
			j.Close()
			settled(t, d, upTo(n+1))
			if j, err = openMem(d); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// Removed lines that are in a foreign file come back; the rest stays missing.
func TestRepairFromForeign(t *testing.T) {
	d := filled(t, 9)
	lines := strings.SplitAfter(chainOf(9), "\n")
	d.put(mainPath, []byte(lines[0]+lines[8]))
	d.put(filepath.Join(memPath, "mailbox.foreign-1.jsonl"), []byte(lines[2]+"mine\n"+lines[3]+lines[6]+lines[8]))
	j, err := openMem(d)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	v, err := j.Repair(t.Context())
	if diff := cmp.Diff([]string{"2-2", "5-6", "8-8"}, ranges(v.Problems)); err != nil || v.Repaired != 3 ||
		diff != "" {
		t.Errorf("Repair = %+v, %v (-want +got):\n%s", v, err, diff)
	}
	if got := string(d.content(filepath.Join(memPath, "mailbox.foreign-1.jsonl"))); got != "mine\n" {
		t.Errorf("of the foreign file is left %q", got)
	}
	again, err := j.Repair(t.Context())
	if again.Repaired != 0 || err != nil || len(again.Problems) != len(v.Problems) {
		t.Errorf("repairing again = %+v, %v", again, err)
	}
}

// Erased and dropped events do not come back from any old copy.
func TestRepairLeavesErased(t *testing.T) {
	d := newMemDisk()
	j, err := openMem(d)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	c := newClerk()
	c.append(t, j, 9)
	old := d.content(mainPath)
	if err := c.erase(j, 3); err != nil {
		t.Fatal(err)
	}
	if err := c.compact(t, j); err != nil {
		t.Fatal(err)
	}
	d.put(mainPath, old)
	j.look()
	if v, err := j.Repair(t.Context()); err != nil || v.Repaired != 0 {
		t.Errorf("Repair = %+v, %v", v, err)
	}
	hot, _ := c.hot(t, j)
	if _, back := hot[3]; back {
		t.Error("an erased note is back")
	}
	if err := c.erase(j, 3); err != nil { // the old copy has its text, which erasing must reach
		t.Fatal(err)
	}
	c.check(t, d, j)
}

// Every disk call fails, or is the last, during the repair of a reversed journal: no line is lost, and a second repair
// completes it.
func TestRepairInterrupted(t *testing.T) {
	lines := strings.SplitAfter(chainOf(9), "\n")[:9]
	slices.Reverse(lines)
	for _, what := range []fault{dies, fails, succeeds} {
		for at := 1; ; at++ {
			d := diskWith(strings.Join(lines, "") + "garbage\n")
			j, err := openMem(d)
			if err != nil {
				t.Fatal(err)
			}
			hit, from := false, d.calls
			d.fault = func(call int, _ string) fault {
				if call < from+at || what != dies && call > from+at {
					return works
				}
				hit = true
				return what
			}
			_, _ = j.Repair(t.Context())
			j.Close()
			for seed := range uint64(6) {
				after := d.survive()
				after.fault = nil
				if seed > 0 {
					after = d.crash(newRand(seed))
				}
				if j, err = openMem(after); err != nil {
					t.Fatal(err)
				}
				v, err := j.Repair(t.Context())
				if err != nil || len(v.Problems) != 1 || j.Last() < 9 {
					t.Errorf("Repair = %+v, %v", v, err)
				}
				if got := after.content(mainPath); !bytes.HasPrefix(got, []byte(chainOf(9))) {
					t.Errorf("the journal is\n%s", got)
				}
				if got := string(after.content(rejectedPath)); got != "garbage\n" {
					t.Errorf("set aside: %q", got)
				}
				j.Close()
				if t.Failed() {
					t.Fatalf("fault %d at call %d, state %d, after\n%s", what, at, seed, strings.Join(d.trace, "\n"))
				}
			}
			if !hit {
				break
			}
		}
	}
}

// Repair, not only the next Open, sets aside a line that goes bad while the journal is open.
func TestRepairOpen(t *testing.T) {
	d := newMemDisk()
	j, err := openMem(d)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	c := newClerk()
	c.append(t, j, 5)
	node := d.dirs[memPath].names[mainName]
	node.data = bytes.Replace(node.data, []byte(secret(2)), []byte(strings.ToUpper(secret(2))), 1)
	if v, err := j.Verify(t.Context()); err != nil || len(v.Problems) != 1 || v.Problems[0].Line != 3 {
		t.Errorf("Verify = %+v, %v, want that line 3 is bad", v, err)
	}
	v, err := j.Repair(t.Context())
	if err != nil || len(v.Problems) != 1 || v.Problems[0].File != rejectedName || j.Condition().Rejected != 1 ||
		j.Condition().Missing != 1 {
		t.Errorf("Repair = %+v, %v, %+v, want the bad line set aside", v, err, j.Condition())
	}
	c.append(t, j, 1)
	if hot, last := c.hot(t, j); len(hot) != 5 || last != 6 {
		t.Errorf("the journal has %v", hot)
	}
	if got := j.Last(); got != mail.Seq(6) {
		t.Errorf("Last() = %d", got)
	}
}

// TestRepairKeepsLastPlace checks that the last sequence number is not reused if its line goes bad while the journal
// is open and Repair sets it aside.
func TestRepairKeepsLastPlace(t *testing.T) {
	d := newMemDisk()
	j, err := openMem(d)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	c := newClerk()
	c.append(t, j, 5)
	node := d.dirs[memPath].names[mainName]
	node.data = bytes.Replace(node.data, []byte(secret(4)), []byte(strings.ToUpper(secret(4))), 1)
	if v, err := j.Repair(t.Context()); err != nil || len(v.Problems) != 1 || j.Condition().Missing != 1 {
		t.Errorf("Repair = %+v, %v, %+v, want the bad line set aside", v, err, j.Condition())
	}
	if seq, err := j.Append(t.Context(), note(5)); err != nil || seq != 6 {
		t.Errorf("Append = %d, %v, want 6", seq, err)
	}
}

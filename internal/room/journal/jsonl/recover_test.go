package jsonl

import (
	"bytes"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pennypost/internal/mail"
	"pennypost/internal/room/journal"
)

var mainPath, rejectedPath = filepath.Join(memPath, mainName), filepath.Join(memPath, rejectedName)

// lineOf returns the line of note n at seq, newline included.
func lineOf(n int, seq mail.Seq) string {
	e := note(n)
	payload, err := appendPayload(nil, &e)
	if err != nil {
		panic(err)
	}
	return string(oldLine(seq, payload))
}

// oldLine returns a line of version 1, newline included. Payload is the part between seq and crc.
func oldLine(seq mail.Seq, payload []byte) []byte {
	b := append(appendNumber([]byte(head), seq), payload...)
	return append(appendCRC(b, 0), '\n')
}

// linesOf returns the lines of the first n notes, note i at sequence number i+1.
func linesOf(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(lineOf(i, mail.Seq(i+1)))
	}
	return b.String()
}

func diskWith(content string) *memDisk {
	d := newMemDisk()
	d.put(mainPath, []byte(content))
	return d
}

// found opens the journal on d, reads it and closes it again.
func found(t *testing.T, d *memDisk) (seqs []mail.Seq, r Recovery) {
	t.Helper()
	j, err := openMem(d)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	defer j.Close()
	if rejected := j.Condition().Rejected; rejected != bytes.Count(d.content(rejectedPath), []byte("\n")) {
		t.Errorf("Condition() reports %d lines in the rejected file, which has %q", rejected, d.content(rejectedPath))
	}
	c := newClerk()
	hot, _ := c.hot(t, j)
	for n, seq := range hot {
		if n+1 != int(seq) && n < 100 {
			t.Errorf("note %d stands at %d", n, seq)
		}
	}
	for seq := mail.Seq(1); seq <= j.Last(); seq++ {
		for _, at := range hot {
			if at == seq {
				seqs = append(seqs, seq)
			}
		}
	}
	return seqs, j.Recovery()
}

// settled fails the test unless reopening finds the same events and changes nothing.
func settled(t *testing.T, d *memDisk, want []mail.Seq) {
	t.Helper()
	before, rejected := d.content(mainPath), d.content(rejectedPath)
	seqs, r := found(t, d)
	if diff := cmp.Diff(want, seqs); diff != "" {
		t.Errorf("opening again finds other events (-want +got):\n%s", diff)
	}
	if r.Cut != 0 || r.Completed || r.SetAside != nil || r.RolledBack {
		t.Errorf("opening again repairs again: %+v", r)
	}
	if !bytes.Equal(before, d.content(mainPath)) || !bytes.Equal(rejected, d.content(rejectedPath)) {
		t.Errorf("opening again changed the files")
	}
}

// appendsBehind fails the test unless a note can be appended at the next sequence number and is there afterwards.
func appendsBehind(t *testing.T, d *memDisk, last mail.Seq) {
	t.Helper()
	j, err := openMem(d)
	if err != nil {
		t.Fatal(err)
	}
	if seq, err := j.Append(t.Context(), note(100)); seq != last+1 || err != nil {
		t.Errorf("Append = %d, %v, want %d, nil", seq, err, last+1)
	}
	j.Close()
	if seqs, _ := found(t, d); len(seqs) == 0 || seqs[len(seqs)-1] != last+1 {
		t.Errorf("after an append behind %d the journal has %v", last, seqs)
	}
}

func upTo(n int) (seqs []mail.Seq) {
	for seq := range n {
		seqs = append(seqs, mail.Seq(seq+1))
	}
	return seqs
}

// TestCutAnywhere cuts the file at every byte of its last batch: earlier events are there, the rest of the batch is
// whole lines, and the journal continues.
func TestCutAnywhere(t *testing.T) {
	whole := linesOf(7)
	for cut := len(linesOf(4)); cut <= len(whole); cut++ {
		d := diskWith(whole[:cut])
		seqs, r := found(t, d)
		lines := strings.Count(whole[:cut], "\n")
		rest := len(whole[:cut]) - strings.LastIndex(whole[:cut], "\n") - 1
		missing := len(lineOf(lines, mail.Seq(lines+1))) - rest
		want := Recovery{Events: lines, Cut: int64(rest)}
		if missing == 1 {
			want = Recovery{Events: lines + 1, Completed: true}
		}
		if diff := cmp.Diff(want, r); diff != "" {
			t.Errorf("cut at %d: recovery differs (-want +got):\n%s", cut, diff)
		}
		if diff := cmp.Diff(upTo(want.Events), seqs); diff != "" {
			t.Errorf("cut at %d: events differ (-want +got):\n%s", cut, diff)
		}
		settled(t, d, seqs)
		appendsBehind(t, d, mail.Seq(want.Events))
		if t.Failed() {
			t.FailNow()
		}
	}
}

// TestFlipAnyBit flips every bit of the file: the events of other lines are there; the damaged line's event is not,
// but its bytes are.
func TestFlipAnyBit(t *testing.T) {
	whole := linesOf(3)
	step := 1
	if testing.Short() {
		step = 7
	}
	for bit := 0; bit < 8*len(whole); bit += step {
		damaged := []byte(whole)
		damaged[bit/8] ^= 1 << (bit % 8)
		d := diskWith(string(damaged))
		seqs, r := found(t, d)
		hit := mail.Seq(strings.Count(whole[:bit/8], "\n") + 1)
		var want []mail.Seq
		for seq := mail.Seq(1); seq <= 3; seq++ {
			if seq != hit || whole[bit/8] == '\n' { // a lost newline can be restored
				want = append(want, seq)
			}
		}
		if diff := cmp.Diff(want, seqs); diff != "" {
			t.Errorf("flip of %q (byte %d, bit %d): events differ (-want +got):\n%s", whole[bit/8], bit/8, bit%8, diff)
		}
		kept := append(d.content(mainPath), d.content(rejectedPath)...)
		for line := range bytes.Lines(damaged) {
			if !bytes.Contains(kept, line) {
				t.Errorf("flip of %q (byte %d, bit %d): a line is nowhere", whole[bit/8], bit/8, bit%8)
			}
		}
		if len(r.SetAside) == 0 {
			t.Errorf("flip of %q (byte %d, bit %d) was not reported: %+v", whole[bit/8], bit/8, bit%8, r)
		}
		settled(t, d, seqs)
		if t.Failed() {
			t.FailNow()
		}
	}
}

func TestOddFiles(t *testing.T) {
	three := []string{lineOf(0, 1), lineOf(1, 2), lineOf(2, 3)}
	all := strings.Join(three, "")
	bare := strings.TrimSuffix(three[1], "\n")
	tests := []struct {
		name, content string
		want          []mail.Seq
		rejected      string
	}{
		{"empty", "", nil, ""},
		{"only a newline", "\n", nil, ""},
		{"byte order mark", "\ufeff" + all, upTo(3), ""},
		{"only a byte order mark", "\ufeff", nil, ""},
		{"carriage returns", strings.ReplaceAll(all, "\n", "\r\n"), upTo(3), ""},
		{"byte order mark and carriage returns", "\ufeff" + strings.ReplaceAll(all, "\n", "\r\n"), upTo(3), ""},
		{"empty lines", "\n" + three[0] + "\n\r\n" + three[1] + three[2] + "\n", upTo(3), ""},
		{"no last newline", strings.TrimSuffix(all, "\n"), upTo(3), ""},
		{"no last newline, carriage return", strings.TrimSuffix(all, "\n") + "\r", upTo(3), ""},
		{"garbage before", "garbage\n" + all, upTo(3), "garbage\n"},
		{"garbage between", three[0] + "gar\x00bage\xff\r\n" + three[1] + "{}\n" + three[2], upTo(3),
			"gar\x00bage\xff\r\n{}\n"},
		{"garbage behind", all + "garbage\n", upTo(3), "garbage\n"},
		{"garbage behind, torn", all + "garbage", upTo(3), ""},
		{"zeros behind", all + strings.Repeat("\x00", 5000), upTo(3), ""},
		{"long garbage", three[0] + strings.Repeat("x", 3*chunkSize) + "\n" + three[1] + three[2], upTo(3),
			strings.Repeat("x", 3*chunkSize) + "\n"},
		{"the same garbage twice", "g\n" + all + "g\n", upTo(3), "g\n"},
		{"garbage glued before", three[0] + "garbage" + three[1] + three[2], upTo(3), "garbage" + three[1]},
		{"garbage glued behind", three[0] + bare + "garbage\n" + three[2], upTo(3), bare + "garbage\n"},
		{"garbage glued behind the last", three[0] + bare + "garbage", upTo(2), bare + "garbage\n"},
		{"two lines glued", three[0] + bare + three[2], upTo(3), bare + three[2]},
		{"a line twice", three[0] + three[1] + three[1] + three[2], upTo(3), three[1]},
		{"a line out of order", three[1] + three[0] + three[2], []mail.Seq{2, 3}, three[0]},
		{"a torn line within", three[0] + three[1][:50] + "\n" + three[2], []mail.Seq{1, 3}, three[1][:50] + "\n"},
		{"a torn line and a good one on it", three[0] + three[1][:50] + three[2], []mail.Seq{1, 3},
			three[1][:50] + three[2]},
		{"place 0", string(oldLine(0, []byte(`,"at":"2026-05-10T14:00:00.123Z"`))) + all, upTo(3),
			string(oldLine(0, []byte(`,"at":"2026-05-10T14:00:00.123Z"`)))},
		{"capital digits", strings.ToUpper(three[0]) + three[1], []mail.Seq{2}, strings.ToUpper(three[0])},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			d := diskWith(test.content)
			seqs, r := found(t, d)
			if diff := cmp.Diff(test.want, seqs); diff != "" {
				t.Errorf("events differ (-want +got):\n%s", diff)
			}
			if r.Events != len(test.want) {
				t.Errorf("recovery reports %d events, want %d", r.Events, len(test.want))
			}
			if got := string(d.content(rejectedPath)); got != test.rejected {
				t.Errorf("set aside: %.200q, want %.200q", got, test.rejected)
			}
			settled(t, d, seqs)
			last := mail.Seq(0)
			if len(seqs) > 0 {
				last = seqs[len(seqs)-1]
			}
			appendsBehind(t, d, last)
		})
	}
}

// A person must be able to find the line.
func TestLineNumbers(t *testing.T) {
	d := diskWith(lineOf(0, 1) + "\ngarbage\n" + lineOf(1, 2) + lineOf(1, 2))
	j, err := openMem(d)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	want := []mail.Problem{
		{File: mainName, Line: 3, Text: errNoCRC.Error()},
		{File: mainName, Line: 5, Text: "its seq 2 is not greater than 2"},
	}
	if diff := cmp.Diff(want, j.Recovery().SetAside); diff != "" {
		t.Errorf("set aside (-want +got):\n%s", diff)
	}
	v, err := j.Verify(t.Context())
	want = []mail.Problem{
		{File: rejectedName, Line: 1, Text: "it was set aside: " + errNoCRC.Error()},
		{File: rejectedName, Line: 2, Text: "it was set aside: its seq is not greater than the one before"},
	}
	if diff := cmp.Diff(want, v.Problems); diff != "" || err != nil {
		t.Errorf("Verify: %v; problems (-want +got):\n%s", err, diff)
	}
	if v.Files != 2 || v.Lines != 4 || v.Bytes != int64(len(d.content(mainPath))+len(d.content(rejectedPath))) {
		t.Errorf("Verify read %d files, %d lines, %d bytes", v.Files, v.Lines, v.Bytes)
	}
}

// A follower that starts late must not read the file from its beginning.
func TestIndex(t *testing.T) {
	d := newMemDisk()
	j, err := openMem(d)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { j.Close() }()
	offset := make(map[mail.Seq]int64) // of each event
	fill := func(n int) {
		for i := range n {
			e := note(i)
			e.Message.Body = strings.Repeat("x", 10_000+i)
			offset[j.Last()+1] = j.size
			if _, err := j.Append(t.Context(), e); err != nil {
				t.Fatal(err)
			}
		}
	}
	inOrder := func() {
		t.Helper()
		for seq, off := range offset {
			if from := j.index.before(seq - 1); from > off || off-from > 2*indexStep {
				t.Errorf("event %d begins at %d; the index says %d", seq, off, from)
			}
		}
	}
	fill(200)
	inOrder()
	j.Close()
	if j, err = openMem(d); err != nil {
		t.Fatal(err)
	}
	inOrder()
	added := false
	err = j.Compact(t.Context(), func(e mail.Event) journal.Fate {
		if !added {
			added = true
			fill(60)
		}
		if e.Seq%2 == 0 {
			return journal.Drop
		}
		return journal.Keep
	})
	if err != nil {
		t.Fatal(err)
	}
	clear(offset)
	err = scan(j.file, 0, j.size, func(l line) error {
		it, _, err := inspect(l.text)
		if it.gone == "" {
			offset[it.seq] = l.off
		}
		return err
	})
	if err != nil || len(offset) != 161 { // those of 200 with odd numbers, the last one, and 60
		t.Fatalf("after compaction there are %d events: %v", len(offset), err)
	}
	inOrder()
}

// Compaction keeps lines exactly as they are, except for the byte order mark, which belongs only at the start of a
// file.
func TestCompactOddFile(t *testing.T) {
	d := diskWith("\ufeff" + strings.ReplaceAll(linesOf(8), "\n", "\r\n"))
	c := newClerk()
	for i := range 8 {
		c.told[i] = mail.Seq(i + 1)
	}
	c.next = 100
	j, err := openMem(d)
	if err != nil {
		t.Fatal(err)
	}
	c.check(t, d, j)
	if err := c.compact(t, j); err != nil {
		t.Fatal(err)
	}
	c.check(t, d, j)
	j.Close()
	if bytes.Contains(d.content(mainPath), utf8BOM) {
		t.Errorf("the byte order mark is still there")
	}
	if want := strings.TrimSuffix(lineOf(3, 4), "\n") + "\r\n"; !bytes.Contains(d.content(mainPath), []byte(want)) {
		t.Errorf("a kept line was changed")
	}
	c.poison = nil
	c.reopen(t, d)
}

// Bad lines are set aside once, whatever interrupts it: every disk call is the last, or fails.
func TestSetAsideInterrupted(t *testing.T) {
	const bad = "garbage\n{}\n"
	for _, what := range []fault{dies, fails, succeeds} {
		for at := 1; ; at++ {
			d := diskWith(lineOf(0, 1) + "garbage\n" + lineOf(1, 2) + "{}\n" + lineOf(2, 3))
			d.put(rejectedPath, []byte("old\n"))
			hit := false
			d.fault = func(call int, _ string) fault {
				if call < at || what != dies && call > at {
					return works
				}
				hit = true
				return what
			}
			if j, err := openMem(d); err == nil {
				if names := d.files(tmpSuffix); names != nil && what != dies {
					t.Errorf("left over: %v", names)
				}
				j.Close()
			}
			if !hit {
				break
			}
			for seed := range uint64(10) {
				after := d.survive()
				after.fault = nil
				if seed > 0 {
					after = d.crash(rand.New(rand.NewPCG(seed, uint64(at))))
				}
				if seqs, _ := found(t, after); !cmp.Equal(seqs, upTo(3)) {
					t.Errorf("events %v, want %v", seqs, upTo(3))
				}
				if got := string(after.content(rejectedPath)); got != "old\n"+bad {
					t.Errorf("set aside: %q, want %q", got, "old\n"+bad)
				}
				settled(t, after, upTo(3))
				if t.Failed() {
					t.Fatalf("fault %d at call %d, state %d, after\n%s", what, at, seed, strings.Join(d.trace, "\n"))
				}
			}
		}
	}
}

// If there is no space to set a line aside, it stays, and the room opens.
func TestSetAsideOnFullDisk(t *testing.T) {
	d := diskWith(lineOf(0, 1) + "garbage\n" + lineOf(1, 2))
	d.fault = func(_ int, op string) fault {
		if op == "write" || op == "create" {
			return fails
		}
		return works
	}
	j, err := openMem(d)
	if err != nil {
		t.Fatalf("open on a full disk: %v", err)
	}
	if rejected := j.Condition().Rejected; rejected != 1 {
		t.Errorf("Condition() reports %d bad lines, want 1", rejected)
	}
	c := newClerk()
	if hot, _ := c.hot(t, j); len(hot) != 2 {
		t.Errorf("the journal has %v, want two notes", hot)
	}
	if _, err := j.Append(t.Context(), note(2)); err == nil {
		t.Error("Append on a full disk succeeded")
	}
	j.Close()
	d.fault = nil
	if seqs, _ := found(t, d); !cmp.Equal(seqs, upTo(2)) {
		t.Errorf("later the journal has %v, want %v", seqs, upTo(2))
	}
	if got := string(d.content(rejectedPath)); got != "garbage\n" {
		t.Errorf("later set aside: %q", got)
	}
}

// The log says what was done to which line, and none of its content.
func TestLogKeepsSecrets(t *testing.T) {
	var log bytes.Buffer
	content := linesOf(3)
	for cut := range len(content) {
		for _, damaged := range []string{content[:cut], content[:cut] + "~" + content[cut:]} {
			d := diskWith(damaged)
			j, err := Open(memPath, Options{disk: d, watch: -1, Log: slog.New(slog.NewTextHandler(&log, nil))})
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintln(&log, j.Recovery())
			v, err := j.Verify(t.Context())
			fmt.Fprintln(&log, v, err)
			j.Close()
		}
	}
	if bytes.Contains(log.Bytes(), []byte("secret")) || log.Len() == 0 {
		t.Errorf("the log of %d bytes quotes messages", log.Len())
	}
}

// A line longer than any chunk, and more events than fit in one chunk.
func TestLongLines(t *testing.T) {
	d := newMemDisk()
	j, err := openMem(d)
	if err != nil {
		t.Fatal(err)
	}
	var want []mail.Event
	for i := range 30 {
		e := note(i)
		if i%3 == 0 {
			e.Message.Body = strings.Repeat(fmt.Sprint(i, "\n"), i*6_000)
		}
		if _, err := j.Append(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		e.Seq = mail.Seq(i + 1)
		want = append(want, e)
	}
	for range 2 {
		for after := 0; after <= 30; after += 13 {
			cursor := j.Follow(mail.Seq(after))
			var got []mail.Event
			for len(got) < 30-after {
				events, err := cursor.Next(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, events...)
			}
			cursor.Close()
			if diff := cmp.Diff(want[after:], got); diff != "" {
				t.Errorf("events behind %d differ (-want +got):\n%.500s", after, diff)
			}
		}
		j.Close()
		if j, err = openMem(d); err != nil {
			t.Fatal(err)
		}
	}
	j.Close()
}

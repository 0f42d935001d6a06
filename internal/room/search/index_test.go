package search

import (
	"encoding/binary"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"pennypost/internal/mail"
	"pennypost/internal/mail/find"
	"pennypost/internal/room/search/searchtest"
)

// world is messages and an index of them.
type world struct {
	*testing.T
	dir      string
	index    *Index
	messages []Message
	texts    [][]byte // folded texts of the messages
}

func newWorld(t *testing.T) *world {
	w := &world{T: t, dir: t.TempDir()}
	w.open()
	t.Cleanup(func() { w.index.Close() })
	return w
}

func (w *world) open() {
	last := mail.Seq(0)
	if n := len(w.messages); n > 0 {
		last = w.messages[n-1].Seq
	}
	w.index = Open(w.dir, last, slog.New(slog.DiscardHandler))
	w.index.Check(func(seq mail.Seq, is func(mail.ID) bool) bool {
		return slices.ContainsFunc(w.messages, func(m Message) bool { return m.Seq == seq && is(m.ID) })
	})
}

func (w *world) reopen() {
	w.index.Close()
	w.open()
}

// grow makes the index cover all messages.
func (w *world) grow() {
	w.Helper()
	for {
		grown, err := w.index.Grow(func(after mail.Seq) ([]Message, mail.Seq, error) {
			i, _ := slices.BinarySearchFunc(w.messages, after+1, func(m Message, p mail.Seq) int {
				return int(m.Seq) - int(p)
			})
			some := w.messages[i:min(len(w.messages), i+200)]
			if len(some) == 0 {
				return nil, after, nil
			}
			return some, some[len(some)-1].Seq, nil
		})
		if err != nil {
			w.Fatal(err)
		}
		if !grown {
			return
		}
	}
}

// find returns the messages that the index keeps, from at on. Like a room, it starts again when the index has changed.
func (w *world) find(typed string, at mail.Seq, newest bool) (seqs []mail.Seq) {
	w.Helper()
	for range 100 {
		f := w.index.Find(find.Parse(typed), at, newest)
		if f == nil {
			w.grow()
			continue
		}
		some, ok := f.Next(10)
		for ; ok && len(some) > 0; some, ok = f.Next(10) {
			seqs = append(seqs, some...)
			if at = seqs[len(seqs)-1]; newest {
				at--
			}
		}
		switch {
		case !ok:
			w.grow()
			continue
		case newest && f.After == 0 || !newest && f.UpTo == w.index.End():
			return seqs
		}
		if at = f.UpTo; newest {
			at = f.After
		}
	}
	w.Fatal("the index is never as it should be")
	return nil
}

// check checks that the index keeps all messages that match, in order. It returns how many others it keeps.
func (w *world) check(typed string) (others int) {
	w.Helper()
	q := find.Parse(typed)
	seqs := w.find(typed, 0, false)
	newest := w.find(typed, w.index.End(), true)
	if slices.Reverse(newest); !slices.Equal(seqs, newest) {
		w.Fatalf("%q: oldest first %d are left in, newest first %d", typed, seqs, newest)
	}
	if !slices.IsSorted(seqs) {
		w.Errorf("%q: %d are not in order", typed, seqs)
	}
	for i, m := range w.messages {
		_, left := slices.BinarySearch(seqs, m.Seq)
		switch has := q.In(w.texts[i]); {
		case has && !left:
			w.Fatalf("%q: the message at %d is left out: %q", typed, m.Seq, m.Body)
		case left && !has:
			others++
		}
	}
	return others
}

func (w *world) last() mail.Seq { return w.messages[len(w.messages)-1].Seq }

func (w *world) add(c *searchtest.Corpus, n int) {
	for range n {
		w.send(c.Message())
	}
}

func (w *world) send(subject, body string) {
	seq := mail.Seq(3)
	if len(w.messages) > 0 {
		seq += w.last()
	}
	w.messages = append(w.messages, Message{seq, mail.ID(fmt.Sprint("m", seq)), subject, body})
	w.texts = append(w.texts, find.Text(nil, subject, body))
}

// checkSome searches for pieces of some messages, and for text that occurs nowhere.
func (w *world) checkSome(rng *rand.Rand, n int) {
	w.Helper()
	for range n {
		text := []rune(string(w.texts[rng.IntN(len(w.texts))]))
		i := rng.IntN(len(text))
		part := string(text[i:min(len(text), i+1+rng.IntN(14))])
		w.check(part)
		w.check(`"` + part + `"`)
	}
	for _, typed := range []string{"zqx", "zqxzqxzqx", "zq", "\x7f", "龘", strings.Repeat("abcdefghij ", 20),
		`"` + strings.Repeat("abcdefghij", 20) + `"`} {
		w.check(typed)
	}
}

// TestNothingIsLeftOut searches for pieces of messages, and for text that occurs nowhere, in an index with parts of
// several sizes and with messages in memory.
func TestNothingIsLeftOut(t *testing.T) {
	w := newWorld(t)
	w.add(searchtest.New(5), 9_700)
	w.send("", "")
	w.send("", strings.Repeat("a long one, 长的 ", 20_000))
	w.grow()
	w.send("x", "y")
	w.grow()
	if n := len(w.index.parts); n < 2 || w.index.parts[0].level == 0 || len(w.index.fresh) == 0 {
		t.Fatalf("%d parts, the first of level %d, and %d messages in memory: not what is to be tested", n,
			w.index.parts[0].level, len(w.index.fresh))
	}
	w.checkSome(rand.New(rand.NewPCG(1, 1)), 25)
	for _, typed := range []string{"x", "y", "长的", "long 长", "one,"} {
		w.check(typed)
	}
}

// TestLittleIsLeftIn checks that the index excludes nearly all messages that do not match.
func TestLittleIsLeftIn(t *testing.T) {
	w := newWorld(t)
	c := searchtest.New(6)
	w.add(c, 6_000)
	w.grow()
	for _, of := range []struct {
		typed string
		most  int // messages kept that do not match
	}{
		{"zqxzqx", 0},
		{c.Word(3000), 10},
		{c.Word(40) + " " + c.Word(3000), 10},
		{`"` + c.Word(20) + " " + c.Word(30) + `"`, 150}, // both are frequent: 1 in 40
		{"世界", 10},
	} {
		if others := w.check(of.typed); others > of.most {
			t.Errorf("%q: %d messages are left in that do not have it, want %d at most", of.typed, others, of.most)
		}
	}
}

// files returns the files of the index, in the order of their ranges.
func (w *world) files() []string {
	w.Helper()
	names, err := filepath.Glob(filepath.Join(w.dir, "*"))
	if err != nil || len(names) == 0 {
		w.Fatalf("files: %q, %v", names, err)
	}
	slices.Sort(names)
	return names
}

func (w *world) read(name string) []byte {
	w.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		w.Fatal(err)
	}
	return b
}

func (w *world) write(name string, b []byte) {
	w.Helper()
	if err := os.WriteFile(name, b, 0o600); err != nil {
		w.Fatal(err)
	}
}

// TestDamage checks that no damage to the files changes an answer.
func TestDamage(t *testing.T) {
	c := searchtest.New(7)
	rng := rand.New(rand.NewPCG(2, 2))
	for name, damage := range map[string]func(w *world, files []string){
		"cut off":      func(w *world, files []string) { w.write(files[1], w.read(files[1])[:5000]) },
		"empty":        func(w *world, files []string) { w.write(files[1], nil) },
		"gone":         func(w *world, files []string) { os.Remove(files[1]) },
		"all are gone": func(w *world, files []string) { os.RemoveAll(w.dir) },
		"foreign": func(w *world, files []string) {
			w.write(filepath.Join(w.dir, "x.words"), []byte("something"))
		},
		"half written": func(w *world, files []string) {
			w.write(filepath.Join(w.dir, "1.tmp"), []byte("something"))
		},
		"another seq": func(w *world, files []string) { os.Rename(files[0], filepath.Join(w.dir, nameOf(1, 99))) },
		"another's":   func(w *world, files []string) { w.write(files[1], w.read(files[0])) },
		"a directory": func(w *world, files []string) { os.Remove(files[1]); os.Mkdir(files[1], 0o700) },
		"other format": func(w *world, files []string) {
			b := w.read(files[1])
			b[6]++
			binary.LittleEndian.PutUint32(b[pageContent:], sumPage(b[:pageContent], 0))
			w.write(files[1], b)
		},
		"bits": func(w *world, files []string) {
			for _, name := range files {
				b := w.read(name)
				for range 40 {
					b[rng.IntN(len(b))] ^= 1 << rng.IntN(8)
				}
				w.write(name, b)
			}
		},
		"the end": func(w *world, files []string) { // the content that is kept in memory
			b := w.read(files[0])
			b[len(b)-pageBytes+1] ^= 1
			w.write(files[0], b)
		},
		"pages": func(w *world, files []string) {
			b := w.read(files[0])
			copy(b[2*pageBytes:3*pageBytes], b[3*pageBytes:])
			w.write(files[0], b)
		},
		"of another room": func(w *world, files []string) {
			for i := range w.messages {
				w.messages[i] = Message{w.messages[i].Seq, w.messages[i].ID + "'", "", "another one"}
				w.texts[i] = find.Text(nil, "", "another one")
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.add(c, 2000)
			w.grow()
			w.index.Close()
			files := w.files()
			damage(w, files)
			w.open()
			for range 2 { // the first query may find the damage
				for _, typed := range []string{"zqx", c.Word(10), "e", "世", c.Word(50) + " " + c.Word(3)} {
					for at := w.index.End(); at > 0; {
						f := w.index.Find(find.Parse(typed), at, true)
						if f == nil {
							break
						}
						if _, ok := f.Next(1 << 20); !ok {
							break
						}
						at = f.After
					}
				}
				w.grow()
			}
			w.checkSome(rng, 2)
			w.reopen()
			w.grow()
			w.checkSome(rng, 1)
		})
	}
}

// TestCrashWhileJoining checks that parts that were merged, but not removed, do no harm.
func TestCrashWhileJoining(t *testing.T) {
	w := newWorld(t)
	c := searchtest.New(8)
	kept := make(map[string][]byte)
	for len(w.index.parts) == 0 || w.index.parts[0].level == 0 {
		w.add(c, 200)
		w.grow()
		for _, p := range w.index.parts {
			if kept[p.path] == nil {
				kept[p.path] = w.read(p.path)
			}
		}
	}
	w.index.Close()
	for name, b := range kept {
		w.write(name, b)
	}
	w.open()
	if n, files := len(w.index.parts), w.files(); n != len(files) {
		t.Errorf("%d parts of %d files: those that were joined are still there", n, len(files))
	}
	w.grow()
	w.checkSome(rand.New(rand.NewPCG(3, 3)), 10)
}

// TestLargeMessages checks that a part has no more text than fills one, however large a step is.
func TestLargeMessages(t *testing.T) {
	w := newWorld(t)
	text := strings.Repeat("0123456789abcdef", freshBytes/16/4)
	var step []Message
	for i := range 40 {
		step = append(step, Message{Seq: mail.Seq(i + 1), ID: mail.ID(fmt.Sprint("m", i)), Body: text})
	}
	if _, err := w.index.Grow(func(mail.Seq) ([]Message, mail.Seq, error) { return step, 50, nil }); err != nil {
		t.Fatal(err)
	}
	for _, p := range w.index.parts {
		if p.level == 0 && p.docs > 5 {
			t.Errorf("a part has %d messages of %d bytes each", p.docs, len(text))
		}
	}
	if end := w.index.End(); end != 50 {
		t.Errorf("the index knows all up to %d", end)
	}
	found := 0
	for at := mail.Seq(0); at < 50; {
		f := w.index.Find(find.Parse("cdef0123"), at, false)
		seqs, ok := f.Next(100)
		if !ok {
			t.Fatalf("behind %d", at)
		}
		found, at = found+len(seqs), f.UpTo
	}
	if found != len(step) {
		t.Errorf("%d messages were found of %d", found, len(step))
	}
}

// TestAheadOfTheJournal checks that Open does not trust parts that cover more than the journal: the journal was
// restored, and new events reuse sequence numbers.
func TestAheadOfTheJournal(t *testing.T) {
	w := newWorld(t)
	c := searchtest.New(10)
	w.add(c, freshMessages)
	if _, err := w.index.Grow(func(mail.Seq) ([]Message, mail.Seq, error) { // receipts follow the last message
		return w.messages, w.messages[len(w.messages)-1].Seq + 1000, nil
	}); err != nil {
		t.Fatal(err)
	}
	w.reopen()
	w.grow()
	if n, want := w.index.End(), w.messages[len(w.messages)-1].Seq; n != want {
		t.Errorf("the index says that it knows all up to %d; the journal ends at %d", n, want)
	}
}

// TestErase checks that the files keep nothing of an erased message: its grams reveal nearly all of a short text.
func TestErase(t *testing.T) {
	w := newWorld(t)
	c := searchtest.New(9)
	rng := rand.New(rand.NewPCG(4, 4))
	for i := range 3 { // in a part, in one that is merged later, in memory
		w.add(c, 900)
		w.send("", fmt.Sprintf("zqx%dwvq", i))
		w.grow()
	}
	for i := range w.messages {
		if m := w.messages[i]; strings.HasPrefix(m.Body, "zqx") {
			if err := w.index.Erase(m.ID); err != nil {
				t.Fatal(err)
			}
			w.messages[i].Body, w.texts[i] = "", []byte{0, 0}
		}
	}
	for range 2 {
		for _, p := range w.index.parts {
			for _, gram := range []string{"zqx", "qx0", "x0w", "wvq"} {
				err := p.between(&reader{}, gramAt([]byte(gram), 0), gramAt([]byte(gram), 0), func(e entry) bool {
					t.Errorf("%s: %d messages still have %q", p.path, e.count, gram)
					return false
				})
				if err != nil {
					t.Error(err)
				}
			}
		}
		if left := w.find("zqx", 0, false); len(left) > 0 {
			t.Errorf("%d are left in", left)
		}
		w.checkSome(rng, 5)
		w.reopen()
		w.grow()
	}
}

// TestBesideEachOther searches while the index grows and messages are erased from it.
func TestBesideEachOther(t *testing.T) {
	w := newWorld(t)
	c := searchtest.New(10)
	w.add(c, 1500)
	for i := range 15 {
		w.messages[i*100].Body += " wanted"
	}
	done := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			if f := w.index.Find(find.Parse("wanted"), w.index.End(), true); f != nil {
				f.Next(3)
				f.Next(100)
			}
		}
	})
	for i := 1; i <= 1500; i += 100 {
		_, err := w.index.Grow(func(after mail.Seq) ([]Message, mail.Seq, error) {
			some := w.messages[i-1 : i+99]
			return some, some[99].Seq, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.index.Erase(w.messages[i/2].ID); err != nil {
			t.Fatal(err)
		}
	}
	close(done)
	running.Wait()
}

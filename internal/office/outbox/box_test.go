package outbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pennypost/internal/mail"
)

// newBox returns the outbox of a directory.
func newBox(t *testing.T, dir string, opts Options) *Box {
	t.Helper()
	opts.Log = slog.New(slog.DiscardHandler)
	b, err := Open(filepath.Join(dir, "outbox.jsonl"), opts)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func letter(from mail.Name, key, body string) Letter {
	return Letter{Room: "lab", Key: key, Sender: Sender{Name: from}, Since: mail.TimeOf(time.Now()), Why: "away",
		Draft: mail.Draft{To: mail.Recipients{"bob"}, Body: body, Key: key}}
}

func keep(t *testing.T, b *Box, l Letter) *Waiting {
	t.Helper()
	w, err := b.Keep(l)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func keys(b *Box) (all []string) {
	for _, k := range b.List(func(*mail.Kept) bool { return true }).Letters {
		all = append(all, k.Key)
	}
	return all
}

// office receives letters: it knows keys, as a room does.
type office struct {
	mu     sync.Mutex
	away   error            // the error of each send
	lose   bool             // loses the answers of sends
	refuse map[string]error // the error for a body
	got    []string         // bodies, each key once
	known  map[string]bool
	told   []string // which senders were told about which letters
}

func (o *office) way() Way {
	return Way{
		Away: func() error { return nil },
		Send: func(_ context.Context, l *Letter) (mail.Sent, error) {
			o.mu.Lock()
			defer o.mu.Unlock()
			d, err := l.ToSend(time.Now())
			switch {
			case err != nil:
				return mail.Sent{}, err
			case o.away != nil:
				return mail.Sent{}, o.away
			case o.refuse[d.Body] != nil:
				return mail.Sent{}, o.refuse[d.Body]
			case o.known == nil:
				o.known = make(map[string]bool)
			}
			if !o.known[d.Key] {
				o.known[d.Key] = true
				o.got = append(o.got, string(l.Sender.Name)+" "+d.Body)
			}
			if o.lose {
				return mail.Sent{}, mail.Errorf(mail.Timeout, "no answer")
			}
			return mail.Sent{ID: mail.ID("msg_" + d.Key)}, nil
		},
		Return: func(_ context.Context, l *Letter, why error) {
			o.mu.Lock()
			defer o.mu.Unlock()
			o.told = append(o.told, string(l.Sender.Name)+" "+why.Error())
		},
	}
}

func (o *office) set(away error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.away = away
}

// run makes a box send until the returned function is called.
func run(t *testing.T, b *Box, o *office) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); b.Run(ctx, o.way()) }()
	return func() { cancel(); <-done }
}

// Kept mail survives the process, is sent in each sender's order, once, and leaves nothing on the disk.
func TestSentInOrder(t *testing.T) {
	dir := t.TempDir()
	b := newBox(t, dir, Options{})
	for i := range 20 {
		keep(t, b, letter("ann", fmt.Sprint("a", i), fmt.Sprint(i)))
		keep(t, b, letter("eve", fmt.Sprint("e", i), fmt.Sprint(i)))
	}
	synctest.Test(t, func(t *testing.T) {
		again := newBox(t, dir, Options{})
		if got := len(keys(again)); got != 40 {
			t.Fatalf("after a restart %d letters are kept", got)
		}
		o := &office{away: mail.Errorf(mail.Unavailable, "still away")}
		stop := run(t, again, o)
		time.Sleep(20 * time.Second)
		if k := again.List(func(*mail.Kept) bool { return true }).Letters[0]; k.Why != "still away" {
			t.Errorf("it is said to wait for %q", k.Why)
		}
		o.set(nil)
		time.Sleep(2 * maxRetry)
		stop()
		for _, who := range []string{"ann ", "eve "} {
			var got, want []string
			for _, l := range o.got {
				if body, of := strings.CutPrefix(l, who); of {
					got = append(got, body)
				}
			}
			for i := range 20 {
				want = append(want, fmt.Sprint(i))
			}
			if !slices.Equal(got, want) {
				t.Errorf("%ssent %q", who, got)
			}
		}
	})
	if _, err := os.Stat(filepath.Join(dir, "outbox.jsonl")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file is still there: %v", err)
	}
}

// TestNobodyWaitsForOthers: a sender whose letter takes long, or a room that is away, delays no other sender.
func TestNobodyWaitsForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, o := newBox(t, t.TempDir(), Options{}), &office{}
		way := o.way()
		send := way.Send
		hang := make(chan struct{})
		way.Send = func(ctx context.Context, l *Letter) (mail.Sent, error) {
			switch {
			case l.Room == "gone":
				return mail.Sent{}, mail.Errorf(mail.Unavailable, "away")
			case l.Sender.Name == "slow":
				<-hang
			}
			return send(ctx, l)
		}
		for i := range 20 {
			l := letter(mail.Name(fmt.Sprintf("gone-%d", i)), fmt.Sprint("gone-", i), "to a room that is away")
			l.Room = "gone"
			keep(t, b, l)
		}
		keep(t, b, letter("slow", "k1", "what takes long"))
		keep(t, b, letter("slow", "k2", "what comes behind it"))
		ctx, cancel := context.WithCancel(t.Context())
		over := make(chan struct{})
		go func() { defer close(over); b.Run(ctx, way) }()
		quick := keep(t, b, letter("quick", "k3", "what is quick"))
		if _, ok, err := quick.Await(time.Minute); !ok || err != nil {
			t.Errorf("behind a letter of another sender it waits: %v, %v", ok, err)
		}
		close(hang)
		time.Sleep(time.Minute)
		synctest.Wait()
		want := []string{"quick what is quick", "slow what takes long", "slow what comes behind it"}
		if !slices.Equal(o.got, want) {
			t.Errorf("sent %q, want %q", o.got, want)
		}
		if n := len(keys(b)); n != 20 {
			t.Errorf("%d letters wait, want those to the room that is away", n)
		}
		cancel()
		<-over
	})
}

func TestLostAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		b := newBox(t, dir, Options{})
		keep(t, b, letter("ann", "k", "once"))
		o := &office{lose: true}
		stop := run(t, b, o)
		time.Sleep(time.Minute)
		stop()
		if got := keys(b); !slices.Equal(got, []string{"k"}) {
			t.Errorf("after sends in doubt there is %q", got)
		}
		b = newBox(t, dir, Options{})
		o.lose = false
		stop = run(t, b, o)
		time.Sleep(time.Minute)
		stop()
		if len(o.got) != 1 || len(keys(b)) != 0 {
			t.Errorf("it was sent as %q, and %q is left", o.got, keys(b))
		}
	})
}

// The same key is the same letter while it waits; with another text it is a conflict. A text that is repeated within
// five minutes is one letter, unless its sender says otherwise; later it is another one.
func TestSameKey(t *testing.T) {
	b := newBox(t, t.TempDir(), Options{})
	first := keep(t, b, letter("ann", "k", "x"))
	if again := keep(t, b, letter("ann", "k", "x")); again.e != first.e {
		t.Error("the same key made another letter")
	}
	if _, err := b.Keep(letter("ann", "k", "y")); mail.CodeOf(err) != mail.Conflict {
		t.Errorf("another text with the key: %v", err)
	}
	keep(t, b, letter("eve", "k", "y")) // another sender's key
	if again := keep(t, b, letter("ann", mail.MadeKey+"1", "x")); again.e != first.e {
		t.Error("a repetition made another letter")
	}
	keep(t, b, letter("ann", "chosen", "x"))
	late := letter("ann", mail.MadeKey+"2", "x")
	late.Since = late.Since.Add(time.Hour)
	keep(t, b, late)
	if got, want := keys(b), []string{"k", "chosen", "auto-2", "k"}; !slices.Equal(got, want) {
		t.Errorf("kept %q, want %q", got, want)
	}
	e := b.find(of{"lab", "ann"}, "auto-2")
	l, err := b.letter(e)
	if err != nil || !l.Draft.Again {
		t.Errorf("the room would take what was sent an hour later for a repetition: %+v, %v", l, err)
	}
}

// A refused letter stays until it is dismissed, with its text, even after a restart. It delays no other letter, and
// its key may be used again.
func TestRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		b := newBox(t, dir, Options{})
		keep(t, b, letter("ann", "bad", "to nobody"))
		keep(t, b, letter("ann", "good", "to bob"))
		o := &office{refuse: map[string]error{"to nobody": mail.Errorf(mail.NotFound, "there is no nobody")}}
		stop := run(t, b, o)
		time.Sleep(time.Second)
		stop()
		if !slices.Equal(o.got, []string{"ann to bob"}) || !slices.Equal(o.told, []string{"ann there is no nobody"}) {
			t.Errorf("sent %q, told %q", o.got, o.told)
		}
		b = newBox(t, dir, Options{})
		all := b.List(func(*mail.Kept) bool { return true }).Letters
		if len(all) != 1 || !all[0].Refused || all[0].Why != "there is no nobody" || all[0].Body != "to nobody" {
			t.Fatalf("refused: %+v", all)
		}
		if b.Waits() {
			t.Error("what was refused is to be sent again")
		}
		keep(t, b, letter("ann", "bad", "to nobody"))
		b = newBox(t, dir, Options{})
		if all = b.List(func(*mail.Kept) bool { return true }).Letters; len(all) != 1 || all[0].Refused {
			t.Errorf("kept once more: %+v", all)
		}
		if err := b.Withdraw("bad"); err != nil {
			t.Error(err)
		}
		if err := b.Withdraw("bad"); mail.CodeOf(err) != mail.NotFound {
			t.Errorf("withdrawn twice: %v", err)
		}
		if text, _ := os.ReadFile(filepath.Join(dir, "outbox.jsonl")); len(text) > 0 {
			t.Errorf("the file still has %s", text)
		}
	})
}

// A letter whose time is over has expired; otherwise the rest of its time counts.
func TestTimeToLive(t *testing.T) {
	l := letter("ann", "k", "x")
	l.Draft.TTLSeconds = 3600
	d, err := l.ToSend(l.Since.Std().Add(20 * time.Minute))
	if err != nil || d.TTLSeconds != 2400 {
		t.Errorf("after 20 min %d s are left, %v", d.TTLSeconds, err)
	}
	if _, err := l.ToSend(l.Since.Std().Add(time.Hour)); mail.CodeOf(err) != mail.Invalid {
		t.Errorf("after an hour: %v", err)
	}
}

// Over a limit, nothing is kept, and the sender is told.
func TestFull(t *testing.T) {
	b := newBox(t, t.TempDir(), Options{Most: 2})
	keep(t, b, letter("ann", "1", "x"))
	keep(t, b, letter("ann", "2", "y"))
	if _, err := b.Keep(letter("ann", "3", "z")); mail.CodeOf(err) != mail.Unavailable ||
		!strings.Contains(err.Error(), "2 letters") {
		t.Errorf("a third letter: %v", err)
	}
	keep(t, b, letter("ann", "1", "x")) // is there already
	b = newBox(t, t.TempDir(), Options{Bytes: 1 << 10})
	if _, err := b.Keep(letter("ann", "1", strings.Repeat("x", 1<<10))); mail.CodeOf(err) != mail.Unavailable {
		t.Errorf("a letter of more bytes: %v", err)
	}
	if b = newBox(t, t.TempDir(), Options{Most: -1}); len(keys(b)) != 0 {
		t.Error("something is kept")
	}
	if _, err := b.Keep(letter("ann", "1", "x")); mail.CodeOf(err) != mail.Unavailable {
		t.Errorf("kept though nothing is to be: %v", err)
	}
}

// P1: from a file that is cut at any byte every complete line is read, and later letters are kept after them.
func TestCutAtEveryByte(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "outbox.jsonl")
	b := newBox(t, dir, Options{})
	var ends []int64
	for i := range 3 {
		keep(t, b, letter("ann", fmt.Sprint(i), strings.Repeat("ä", i)+"\n"))
		ends = append(ends, b.file.size)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for cut := range whole {
		if err := os.WriteFile(path, whole[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		want := 0
		for _, end := range ends {
			if int64(cut) >= end {
				want++
			}
		}
		b := newBox(t, dir, Options{})
		if got := len(keys(b)); got != want {
			t.Fatalf("cut at %d: %d letters, want %d", cut, got, want)
		}
		keep(t, b, letter("ann", "next", "x"))
		if got := newBox(t, dir, Options{}); len(keys(got)) != want+1 || len(got.bad) > 0 {
			t.Fatalf("cut at %d, then kept: %q and %d bad lines", cut, keys(got), len(got.bad))
		}
	}
}

// P2, P10: a line that was altered, or is invalid, is not sent, is counted, and stays unchanged; the others are kept.
func TestGarbage(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "outbox.jsonl")
	b := newBox(t, dir, Options{})
	keep(t, b, letter("ann", "1", "first"))
	keep(t, b, letter("ann", "2", "second"))
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	garbage := []byte("\x00\xffnonsense\n{}\n\n{\"letter\":{},\"crc\":\"00000000\"}\n")
	altered := bytes.Replace(text, []byte("second"), []byte("sEcond"), 1)
	if err := os.WriteFile(path, slices.Concat(garbage, altered), 0o644); err != nil {
		t.Fatal(err)
	}
	b = newBox(t, dir, Options{})
	list := b.List(func(*mail.Kept) bool { return true })
	if len(list.Letters) != 1 || list.Letters[0].Key != "1" || list.Unread != 5 {
		t.Errorf("the list is %+v", list)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file is open to others: %v, %v", info.Mode(), err)
	}
	if err := b.Withdraw("1"); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadFile(path)
	if err != nil || !bytes.HasPrefix(left, garbage) || !bytes.Contains(left, []byte("sEcond")) ||
		bytes.Contains(left, []byte("first")) {
		t.Errorf("the file is %q, %v", left, err)
	}
	keep(t, b, letter("ann", "3", "third"))
	if b = newBox(t, dir, Options{}); !slices.Equal(keys(b), []string{"3"}) {
		t.Errorf("kept %q", keys(b))
	}
}

// After another program changed the file, the box neither sends wrong mail nor accepts mail that it cannot keep.
func TestChangedByOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		path := filepath.Join(dir, "outbox.jsonl")
		b := newBox(t, dir, Options{})
		keep(t, b, letter("ann", "1", "first"))
		if err := os.WriteFile(path, []byte(strings.Repeat("x", 1000)), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Keep(letter("ann", "2", "second")); mail.CodeOf(err) != mail.Unavailable {
			t.Errorf("kept in another's file: %v", err)
		}
		o := new(office)
		stop := run(t, b, o)
		time.Sleep(time.Minute)
		stop()
		if len(o.got) > 0 {
			t.Errorf("sent %q", o.got)
		}
		if k := b.List(func(*mail.Kept) bool { return true }).Letters[0]; !strings.Contains(k.Why, "cannot be read") {
			t.Errorf("it is said to wait for %q", k.Why)
		}
	})
}

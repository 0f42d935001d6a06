package dialog

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"pennypost/internal/mail"
	"pennypost/internal/office/hook"
	"pennypost/internal/wire"
)

var quiet = slog.New(slog.DiscardHandler)

// held is a dialog about a command.
func held(command string) hook.Held {
	h := hook.Held{Room: "lab", Agent: "ann", Client: "claude", Session: "s1", Process: "1@b"}
	h.Dialog = mail.Dialog{Kind: mail.AsksPermission, Tool: "Bash", Sum: strings.Repeat("0f", 32)}
	h.Form, h.Text, h.Beside = mail.FormCommand, command, true
	h.Offers = []mail.Offer{{Verdict: mail.SayAllow}, {Verdict: mail.SayDeny, Words: true}}
	return h
}

// add adds a dialog, and returns it as stored.
func add(t *testing.T, d *Desk, h hook.Held) hook.Held {
	t.Helper()
	id, again, err := d.Add(h)
	if err != nil || again {
		t.Fatalf("Add = %s, %v, %v", id, again, err)
	}
	h, ok := d.Find(id)
	if !ok {
		t.Fatalf("%s is not held", id)
	}
	return h
}

// answers gives an answer, after which the client closes its dialog.
func answers(d *Desk, a *mail.DialogAnswer) error {
	_, err := d.Answer(a, func() bool { return true })
	return err
}

func allow(h *hook.Held) *mail.DialogAnswer {
	return &mail.DialogAnswer{Dialog: h.ID, Sum: h.Shown(), Verdict: mail.SayAllow}
}

// files returns the names of the files of a desk.
func files(t *testing.T, dir string) (names []string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range list {
		names = append(names, f.Name())
	}
	return names
}

// TestRestart: a question survives a restart byte for byte, with the away switch, until it is settled. No hook waits
// for its answer then.
func TestRestart(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "dialogs")
	d := Open(dir, quiet)
	text := "rm -rf build\x1b[2K\u202e\n\tmake \"all\""
	h := add(t, d, held(text))
	until := mail.TimeOf(time.Now().Add(time.Hour))
	if err := d.SetAway(wire.Away{Agent: "ann", Until: until}); err != nil {
		t.Fatal(err)
	}
	for _, name := range files(t, dir) {
		if st, err := os.Stat(filepath.Join(dir, name)); err != nil || st.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, st, err)
		}
	}
	d = Open(dir, quiet)
	got, ok := d.Find(h.ID)
	if got.Opened.Equal(h.Opened) {
		got.Opened = h.Opened
	}
	if diff := cmp.Diff(h, got); !ok || diff != "" || got.Text != text {
		t.Errorf("held is %v %s", ok, diff)
	}
	if waits, handed := d.Waits(h.ID); waits || handed {
		t.Error("somebody waits after a restart")
	}
	if err := answers(d, allow(&h)); mail.CodeOf(err) != mail.Conflict {
		t.Errorf("Answer = %v", err)
	}
	if !d.Holds(h.ID) || !d.Away("lab", "ann") || d.Away("lab", "bob") {
		t.Errorf("the switch is %+v", d.AwayFor())
	}
	d.Remove(h.ID)
	d.Remove(h.ID)
	if got := files(t, dir); !slices.Equal(got, []string{"away"}) {
		t.Errorf("left is %q", got)
	}
	if all := Open(dir, quiet).All(); len(all) > 0 {
		t.Errorf("after it was settled and a restart there is %+v", all)
	}
}

// TestDamaged: a file that cannot be read, or that is another dialog's, is moved away; the other dialogs are loaded.
func TestDamaged(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "dialogs")
	d := Open(dir, quiet)
	torn, copied := add(t, d, held("one")), held("two")
	copied.Sum = strings.Repeat("0e", 32)
	copied = add(t, d, copied)
	raw, err := os.ReadFile(d.path(torn.ID))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{string(torn.ID) + ".json": raw[:len(raw)/2], "d-other.json": raw,
		"away": []byte("["), "note.txt": nil} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d = Open(dir, quiet)
	if all := d.All(); len(all) != 1 || all[0].ID != copied.ID {
		t.Errorf("held are %+v", all)
	}
	want := []string{"away", "d-other.json.bad", filepath.Base(d.path(torn.ID)) + ".bad",
		filepath.Base(d.path(copied.ID)), "note.txt"}
	slices.Sort(want)
	if diff := cmp.Diff(want, files(t, dir)); diff != "" {
		t.Error(diff)
	}
	if away := Open(dir, quiet).AwayFor(); len(away) > 0 {
		t.Errorf("away: %+v", away)
	}
}

// TestUnwritable: a dialog that cannot be saved is not added, so its client asks by itself.
func TestUnwritable(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	d := Open(dir, quiet)
	if id, _, err := d.Add(held("x")); err == nil || len(d.All()) > 0 {
		t.Errorf("Add = %s, %v", id, err)
	}
	if err := d.SetAway(wire.Away{Until: mail.TimeOf(time.Now().Add(time.Hour))}); err == nil || len(d.AwayFor()) > 0 {
		t.Errorf("SetAway: %v, %+v", err, d.AwayFor())
	}
}

// TestBounds: the number of dialogs and the size of their questions are limited. Over the size limit only the
// existence of the dialog is kept, and it cannot be allowed here.
func TestBounds(t *testing.T) {
	d := Open("", quiet)
	big := held(strings.Repeat("x", mail.MaxAsk))
	for i := range maxOpen + 1 {
		big.Session = string(rune('a'+i%26)) + strings.Repeat("s", i)
		id, _, err := d.Add(big)
		if i == maxOpen {
			if mail.CodeOf(err) != mail.Limited {
				t.Errorf("one more: %s, %v", id, err)
			}
			break
		}
		h, _ := d.Find(id)
		whole := i < maxBytes/(mail.MaxAsk+2000) // including the other data of each
		if err != nil || whole == h.Cut || whole != (h.Text != "") {
			t.Fatalf("%d: %v, cut %v", i, err, h.Cut)
		}
	}
	if d.bytes > maxBytes {
		t.Errorf("%d bytes are held", d.bytes)
	}
	for _, h := range d.All() {
		d.Remove(h.ID)
	}
	if d.bytes != 0 || len(d.open) > 0 {
		t.Errorf("%d bytes of %d dialogs are left", d.bytes, len(d.open))
	}
}

// TestTwice: two hooks for one dialog are one dialog; another worker, session, room or input is another one.
func TestTwice(t *testing.T) {
	d := Open("", quiet)
	h := add(t, d, held("make"))
	if id, again, err := d.Add(held("make")); err != nil || !again || id != h.ID {
		t.Errorf("the second is %s, %v, %v", id, again, err)
	}
	for _, change := range []func(*hook.Held){
		func(h *hook.Held) { h.Worker = "sub" }, func(h *hook.Held) { h.Session = "s2" },
		func(h *hook.Held) { h.Client = "codex" }, func(h *hook.Held) { h.Room = "den" },
		func(h *hook.Held) { h.Sum = strings.Repeat("0e", 32) },
	} {
		o := held("make")
		change(&o)
		add(t, d, o)
	}
	if of := d.Of("claude", "s1"); len(of) != 4 {
		t.Errorf("of the session are %+v", of)
	}
	d.Leave("lab")
	if all := d.All(); len(all) != 1 || all[0].Room != "den" {
		t.Errorf("after the room was removed there are %+v", all)
	}
}

// wait waits as a hook does, and confirms the answer unless mute.
func wait(ctx context.Context, d *Desk, id mail.ID, mute bool) <-chan *mail.DialogAnswer {
	got := make(chan *mail.DialogAnswer, 1)
	go func() {
		h, _ := d.Find(id)
		a, _ := d.Wait(ctx, id, h.Shown())
		if got <- a; a != nil && !mute {
			d.Taken(id)
		}
	}()
	return got
}

// TestAnswer: an answer must fit the question, and reaches a hook once.
func TestAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := Open("", quiet)
		h := add(t, d, held("make"))
		hook1 := wait(t.Context(), d, h.ID, false)
		synctest.Wait()
		for _, c := range []struct {
			what   string
			change func(*mail.DialogAnswer)
			want   mail.Code
		}{
			{"another dialog", func(a *mail.DialogAnswer) { a.Dialog = "d-x" }, mail.NotFound},
			{"a wrong sum", func(a *mail.DialogAnswer) { a.Sum = strings.Repeat("0e", 32) }, mail.Conflict},
			{"no sum", func(a *mail.DialogAnswer) { a.Sum = "" }, mail.Conflict},
			{"what is not offered", func(a *mail.DialogAnswer) { a.Verdict = mail.SayAnswer }, mail.Invalid},
			{"a rule that is not offered", func(a *mail.DialogAnswer) { a.Rule = 1 }, mail.Invalid},
			{"words that are not taken", func(a *mail.DialogAnswer) { a.Words = "but" }, mail.Invalid},
		} {
			a := allow(&h)
			if c.change(a); mail.CodeOf(answers(d, a)) != c.want {
				t.Errorf("%s: %v, want %s", c.what, answers(d, a), c.want)
			}
		}
		if waits, handed := d.Waits(h.ID); !waits || handed {
			t.Errorf("waits %v, handed %v", waits, handed)
		}
		if err := answers(d, allow(&h)); err != nil {
			t.Error(err)
		}
		if a := <-hook1; a == nil || a.Verdict != mail.SayAllow {
			t.Errorf("the hook has %+v", a)
		}
		if err := answers(d, allow(&h)); mail.CodeOf(err) != mail.Conflict {
			t.Errorf("a second answer: %v", err)
		}
		d.Remove(h.ID)
		if err := answers(d, allow(&h)); mail.CodeOf(err) != mail.NotFound {
			t.Errorf("an answer to what is over: %v", err)
		}
	})
}

// TestAtOnce: of several simultaneous answers one counts, and every hook of the client gets it, once.
func TestAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := Open("", quiet)
		h := add(t, d, held("make"))
		hooks := []<-chan *mail.DialogAnswer{wait(t.Context(), d, h.ID, false), wait(t.Context(), d, h.ID, false)}
		synctest.Wait()
		errs := make(chan error)
		for range 8 {
			go func() {
				err := answers(d, allow(&h))
				if err == nil {
					d.Remove(h.ID)
				}
				errs <- err
			}()
		}
		taken := 0
		for range 8 {
			if err := <-errs; err == nil {
				taken++
			}
		}
		had := 0
		for _, got := range hooks {
			if <-got != nil {
				had++
			}
		}
		if taken != 1 || had != 2 {
			t.Errorf("%d answers were taken, and %d hooks have one", taken, had)
		}
	})
}

// TestNotTaken: an answer that no hook confirms does not count, and the dialog stays open for another hook.
func TestNotTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := Open("", quiet)
		h := add(t, d, held("make"))
		mute := wait(t.Context(), d, h.ID, true)
		synctest.Wait()
		began := time.Now()
		err := answers(d, allow(&h))
		if mail.CodeOf(err) != mail.Conflict || time.Since(began) != handTime || <-mute == nil {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		if waits, handed := d.Waits(h.ID); !d.Holds(h.ID) || waits || handed {
			t.Errorf("held %v, waits %v, handed %v", d.Holds(h.ID), waits, handed)
		}
		d.Taken(h.ID) // too late
		second := wait(t.Context(), d, h.ID, false)
		synctest.Wait()
		if err := answers(d, allow(&h)); err != nil || <-second == nil {
			t.Errorf("the second hook: %v", err)
		}
	})
}

// TestStillStands: an answer does not count if the client has it and still shows its dialog.
func TestStillStands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := Open("", quiet)
		h := add(t, d, held("make"))
		first := wait(t.Context(), d, h.ID, false)
		synctest.Wait()
		how, err := d.Answer(allow(&h), func() bool { return false })
		if mail.CodeOf(err) != mail.Conflict || how != "" || <-first == nil || !d.Holds(h.ID) {
			t.Errorf("Answer = %q, %v", how, err)
		}
		second := wait(t.Context(), d, h.ID, false)
		synctest.Wait()
		if err := answers(d, allow(&h)); err != nil || <-second == nil {
			t.Errorf("the next hook: %v", err)
		}
	})
}

// TestOverMeanwhile: when a dialog is settled at its client, its hook stops waiting, and a pending answer does not
// count.
func TestOverMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := Open("", quiet)
		h := add(t, d, held("make"))
		idle := wait(t.Context(), d, h.ID, true)
		synctest.Wait()
		d.Remove(h.ID)
		if a := <-idle; a != nil {
			t.Errorf("the hook has %+v", a)
		}
		h = add(t, d, held("make"))
		mute := wait(t.Context(), d, h.ID, true)
		synctest.Wait()
		time.AfterFunc(time.Second, func() { d.Remove(h.ID) })
		if err := answers(d, allow(&h)); mail.CodeOf(err) != mail.Conflict {
			t.Errorf("Answer = %v", err)
		}
		<-mute
		if a, err := d.Wait(t.Context(), h.ID, h.Shown()); a != nil || err != nil {
			t.Errorf("waiting for what is over: %+v, %v", a, err)
		}
	})
}

// TestHookEnds: a hook that ends stops waiting, and its dialog stays open.
func TestHookEnds(t *testing.T) {
	d := Open("", quiet)
	h := add(t, d, held("make"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if a, err := d.Wait(ctx, h.ID, h.Shown()); a != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("Wait = %+v, %v", a, err)
	}
	if waits, _ := d.Waits(h.ID); waits || !d.Holds(h.ID) {
		t.Errorf("waits %v, held %v", waits, d.Holds(h.ID))
	}
	if err := answers(d, allow(&h)); mail.CodeOf(err) != mail.Conflict {
		t.Errorf("Answer = %v", err)
	}
}

// TestCut: a question that is not shown whole can be denied, but not allowed.
func TestCut(t *testing.T) {
	d := Open("", quiet)
	cut := held("make")
	cut.Cut = true
	h := add(t, d, cut)
	if err := answers(d, allow(&h)); mail.CodeOf(err) != mail.Denied {
		t.Errorf("Answer = %v", err)
	}
}

// TestAway: the switch is for one agent, one room or all; it expires, and a time in the past switches it off.
func TestAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := Open("", quiet)
		in := func(hours int) mail.Time { return mail.TimeOf(time.Now().Add(time.Duration(hours) * time.Hour)) }
		set := func(room mail.RoomName, agent mail.Name, hours int) {
			t.Helper()
			if err := d.SetAway(wire.Away{Room: room, Agent: agent, Until: in(hours)}); err != nil {
				t.Fatal(err)
			}
		}
		want := func(room mail.RoomName, agent mail.Name, hours int) {
			t.Helper()
			if d.Away(room, agent) != (hours > 0) {
				t.Errorf("away for %s in %s: %t, want %t", agent, room, hours == 0, hours > 0)
			}
		}
		set("lab", "ann", 1)
		want("lab", "ann", 1)
		want("lab", "bob", 0)
		want("den", "ann", 0)
		set("lab", "", 2)
		want("lab", "ann", 2) // the longest
		want("lab", "bob", 2)
		set("lab", "", -1)
		want("lab", "bob", 0)
		want("lab", "ann", 1)
		set("", "", 3)
		set("lab", "ann", 4)
		time.Sleep(time.Hour)
		want("den", "eve", 2)
		want("lab", "ann", 3)
		set("", "", 0)
		want("lab", "ann", 0)
		set("lab", "ann", 1)
		time.Sleep(time.Hour)
		want("lab", "ann", 0)
		if list := d.AwayFor(); len(list) > 0 {
			t.Errorf("listed are %+v", list)
		}
	})
}

// TestShownOtherwise: a hook whose question differs from the one shown to the person gets no answer, even if it claims
// to be of the same tool call; and an answer to a question that has changed since is refused.
func TestShownOtherwise(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := Open("", quiet)
		forged := held("make")
		forged.Kind, forged.Text = mail.AsksQuestion, ""
		forged.Questions = []mail.AskedQuestion{{Text: "Tea?", Options: []mail.Choice{{Label: "Yes"}}}}
		first := add(t, d, forged)
		real := held("make")
		real.Sum = first.Sum
		id, again, err := d.Add(real)
		if err != nil || again || id == first.ID {
			t.Fatalf("the real one is %s, %t, %v", id, again, err)
		}
		second, _ := d.Find(id)
		got := make(chan *mail.DialogAnswer, 1)
		go func() {
			a, _ := d.Wait(t.Context(), first.ID, second.Shown())
			got <- a
		}()
		synctest.Wait()
		if err := answers(d, allow(&first)); err == nil {
			t.Error("it was answered")
		}
		before := second
		now, ok := d.Update(id, func(h *hook.Held) { h.Text = "make clean" })
		if !ok || now.Shown() == before.Shown() {
			t.Error("what is shown has not changed")
		}
		if err := answers(d, allow(&before)); mail.CodeOf(err) != mail.Conflict {
			t.Errorf("what is not shown any more: %v", err)
		}
		d.Remove(first.ID)
		if a := <-got; a != nil {
			t.Errorf("a hook that has asked something else got %+v", a)
		}
	})
}

// TestBack: once the person is back, no hook waits whose client shows no dialog meanwhile.
func TestBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := Open("", quiet)
		hidden := held("make")
		hidden.Beside = false
		h := add(t, d, hidden)
		for _, until := range []time.Duration{time.Hour, -time.Second} {
			if err := d.SetAway(wire.Away{Until: mail.TimeOf(time.Now().Add(until))}); err != nil {
				t.Fatal(err)
			}
			got := wait(t.Context(), d, h.ID, false)
			synctest.Wait()
			d.Back()
			synctest.Wait()
			select {
			case a := <-got:
				if until > 0 || a != nil {
					t.Errorf("away for %v: the wait ended with %+v", until, a)
				}
			default:
				if until < 0 {
					t.Error("a hook waits for who is back")
				}
			}
		}
		if waits, _ := d.Waits(h.ID); waits {
			t.Error("somebody waits")
		}
	})
}

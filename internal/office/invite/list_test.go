package invite

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pennypost/internal/base/life"
	"pennypost/internal/mail"
	"pennypost/internal/wire"
)

var here = netip.MustParseAddr("192.168.1.9")

func open(t *testing.T, path string) *List {
	t.Helper()
	l, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// code makes a code and returns its secret.
func (l *List) code(t *testing.T, ask wire.Invite) string {
	t.Helper()
	secret, _, err := l.Invite(ask)
	if err != nil {
		t.Fatal(err)
	}
	return secret.String()
}

func (l *List) join(secret string, as mail.Machine, before *mail.Pass) (wire.Joined, error) {
	return l.Redeem(wire.Join{Secret: secret, Machine: as}, here, before)
}

// TestCodes holds that a code lets in one machine, once, within its time, and that a late user is told why.
func TestCodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "joined.json")
		l := open(t, path)
		first := l.code(t, wire.Invite{Rooms: []mail.RoomName{"lab"}, Agent: "ann", For: 3600})
		late := l.code(t, wire.Invite{Good: 60})
		day := l.code(t, wire.Invite{Good: 24 * 60 * 60})
		in, err := l.join(first, "box", nil)
		if err != nil || in.Agent != "ann" || len(in.Rooms) != 1 ||
			in.Expires != mail.TimeOf(time.Now().Add(time.Hour)) {
			t.Fatalf("Redeem = %+v, %v", in, err)
		}
		refused := func(secret string, as mail.Machine, code mail.Code, says string) {
			t.Helper()
			if _, err := l.join(secret, as, nil); mail.CodeOf(err) != code || !strings.Contains(err.Error(), says) {
				t.Errorf("Redeem(%s) = %v, want %s that says %q", secret, err, code, says)
			}
		}
		refused(first, "other", mail.Denied, "already used, by the machine box")
		refused(day, "box", mail.Conflict, "--name")
		refused(day, "bo x", mail.Invalid, "machine")
		refused("nonsense", "other", mail.Denied, "code not valid")
		time.Sleep(time.Minute)
		refused(late, "other", mail.Denied, "this code expired at")
		l = open(t, path) // it says the same after a restart
		refused(first, "other", mail.Denied, "already used")
		refused(late, "other", mail.Denied, "this code expired at")
		time.Sleep(25 * time.Hour) // the code is forgotten in the end
		refused(late, "other", mail.Denied, "code not valid")
		if text, err := os.ReadFile(path); err != nil || strings.Contains(string(text), first) ||
			strings.Contains(string(text), in.Token) {
			t.Errorf("the file has a secret in it: %s, %v", text, err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("the file is open to others: %v, %v", info, err)
		}
	})
}

// TestMachines holds that a token is valid for its time, even after a restart, and that its end is reported.
func TestMachines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "joined.json")
		l := open(t, path)
		in, err := l.join(l.code(t, wire.Invite{Rooms: []mail.RoomName{"lab"}, For: 3600}), "box", nil)
		if err != nil {
			t.Fatal(err)
		}
		ctx, end := life.Begin(t.Context())
		defer end()
		admit := func(token string) (*mail.Pass, error) { return l.Admit(t.Context(), token, here) }
		pass, err := l.Admit(ctx, in.Token, here)
		if err != nil || pass.Machine != "box" || !pass.Enters("lab") || pass.Enters("other") || ctx.Err() != nil {
			t.Fatalf("Admit = %+v, %v", pass, err)
		}
		if all := l.All(); len(all.Machines) != 1 || all.Machines[0].From != "192.168.1.9" ||
			all.Machines[0].Seen == 0 {
			t.Errorf("All = %+v", all)
		}
		// the same machine joins again, and its previous token is void
		again, err := l.join(l.code(t, wire.Invite{For: 60}), "box", pass)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := admit(in.Token); mail.CodeOf(err) != mail.Unknown ||
			context.Cause(ctx).Error() != err.Error() {
			t.Errorf("the token before: %v; what stands on it ends with %v", err, context.Cause(ctx))
		}
		second, err := l.Admit(t.Context(), again.Token, here)
		if err != nil || second.ID == pass.ID || l.Life("box", pass.ID) != nil || l.Life("box", second.ID) == nil {
			t.Errorf("the second pass is %+v, %v", second, err)
		}
		time.Sleep(61 * time.Second)
		if _, err := admit(again.Token); mail.CodeOf(err) != mail.Unknown ||
			!strings.Contains(err.Error(), "the access of the machine") ||
			!strings.Contains(err.Error(), "pennypost invite") {
			t.Errorf("after its end: %v", err)
		}
		l = open(t, path)
		if _, err := admit(again.Token); mail.CodeOf(err) != mail.Unknown {
			t.Errorf("after a restart: %v", err)
		}
		third, err := l.join(l.code(t, wire.Invite{}), "box", nil) // its name is free, because it is out
		if err != nil {
			t.Fatal(err)
		}
		l = open(t, path)
		if pass, err := admit(third.Token); err != nil || !pass.Enters("any") {
			t.Errorf("after a restart: %+v, %v", pass, err)
		}
		if err := l.Revoke("box"); err != nil {
			t.Fatal(err)
		}
		l = open(t, path)
		if _, err := admit(third.Token); mail.CodeOf(err) != mail.Unknown {
			t.Errorf("revoked: %v", err)
		}
	})
}

// TestGuessing holds that wrong codes are counted by origin, and block no one else.
func TestGuessing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := open(t, filepath.Join(t.TempDir(), "joined.json"))
		good := l.code(t, wire.Invite{})
		guess := func(from string) mail.Code {
			_, err := l.Redeem(wire.Join{Secret: "x", Machine: "box"}, netip.MustParseAddr(from), nil)
			return mail.CodeOf(err)
		}
		for range maxWrong {
			if got := guess("fd00::1"); got != mail.Denied {
				t.Fatalf("a wrong code: %s", got)
			}
		}
		for from, want := range map[string]mail.Code{"fd00::1": mail.Limited, "fd00::2": mail.Limited,
			"fd00:0:0:1::1": mail.Denied, "192.168.1.7": mail.Denied} {
			if got := guess(from); got != want {
				t.Errorf("from %s: %s, want %s", from, got, want)
			}
		}
		if _, err := l.join(good, "box", nil); err != nil {
			t.Errorf("somebody with a code: %v", err)
		}
		time.Sleep(time.Minute)
		if got := guess("fd00::1"); got != mail.Denied {
			t.Errorf("a minute later: %s", got)
		}
	})
}

// TestNotWritten holds that no machine is let in, and no code used up, if that cannot be written.
func TestNotWritten(t *testing.T) {
	dir := t.TempDir()
	l := open(t, filepath.Join(dir, "home", "joined.json"))
	if _, _, err := l.Invite(wire.Invite{}); mail.CodeOf(err) != mail.Unavailable || len(l.All().Codes) != 0 {
		t.Fatalf("Invite = %v, %+v", err, l.All())
	}
	if err := os.Mkdir(filepath.Join(dir, "home"), 0o700); err != nil {
		t.Fatal(err)
	}
	good := l.code(t, wire.Invite{})
	if err := os.Rename(filepath.Join(dir, "home"), filepath.Join(dir, "away")); err != nil {
		t.Fatal(err)
	}
	if _, err := l.join(good, "box", nil); mail.CodeOf(err) != mail.Unavailable || len(l.All().Machines) != 0 {
		t.Fatalf("Redeem = %v, %+v", err, l.All())
	}
	if err := os.Rename(filepath.Join(dir, "away"), filepath.Join(dir, "home")); err != nil {
		t.Fatal(err)
	}
	if _, err := l.join(good, "box", nil); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// TestP12_WhatHasEndedMakesRoom makes a test machine join again for each run, under another name, for a minute.
// However often it does, it is let in: neither used codes nor machines whose time is over keep others out. The
// usable ones are bounded all the same.
func TestP12_WhatHasEndedMakesRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := open(t, filepath.Join(t.TempDir(), "joined.json"))
		join := func(name string, lasts int64) (wire.Joined, error) {
			return l.join(l.code(t, wire.Invite{For: lasts}), mail.Machine(name), nil)
		}
		var first, last wire.Joined
		for i := range maxCodes + 20 {
			in, err := join(fmt.Sprint("run-", i), 60)
			if err != nil {
				t.Fatalf("run %d: %v", i, err)
			}
			if last = in; i == 0 {
				first = in
			}
			time.Sleep(2 * time.Second)
		}
		if n := len(l.file.Codes); n > maxCodes {
			t.Errorf("%d codes are remembered", n)
		}
		for i := range maxMachines - len(l.file.Machines) {
			m := &machine{Sum: sumOf(fmt.Sprint(i))}
			m.Name = mail.Machine(fmt.Sprint("lasts-", i))
			m.begin()
			l.replace(nil, m)
		}
		if _, err := join("another", 0); err != nil {
			t.Errorf("a machine in the place of one whose time is over: %v", err)
		}
		if n := len(l.file.Machines); n != maxMachines {
			t.Errorf("%d machines are remembered", n)
		}
		if _, err := l.Admit(t.Context(), last.Token, here); err != nil {
			t.Errorf("the last run is not let in: %v", err)
		}
		if _, err := l.Admit(t.Context(), first.Token, here); mail.CodeOf(err) != mail.Unknown {
			t.Errorf("the first run, whose time is over: %v", err)
		}
		for _, m := range l.file.Machines {
			m.Expires = 0
			m.begin()
		}
		if _, err := join("one-more", 0); mail.CodeOf(err) != mail.Limited {
			t.Errorf("one more than can be let in: %v, want a limit", err)
		}
		time.Sleep(2 * 24 * time.Hour) // all codes are forgotten
		for range maxCodes {
			l.code(t, wire.Invite{})
		}
		if _, _, err := l.Invite(wire.Invite{}); mail.CodeOf(err) != mail.Limited {
			t.Errorf("one more code than can be open: %v, want a limit", err)
		}
		time.Sleep(defaultGood)
		l.code(t, wire.Invite{})
	})
}

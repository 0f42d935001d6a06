package config

import (
	"testing"
	"time"

	"pennypost/internal/mail"
)

// FuzzFile checks that every text of a config.toml or a project's file is either usable or refused with a message for
// the person.
func FuzzFile(f *testing.F) {
	for _, s := range []string{
		"listen = \"127.0.0.1:0\"\n[room.retention]\nage = \"7d\"\ncount = -1\n",
		"[rooms.lab.wake.ann]\nexec = [\"x\", \"{agent}\"]\n", "\ufefflisten = \"none\"\n",
		"room = \"lab\"\nagent = \"小克\"\n", "[room.wake.a]\nwebhook = \"http://x\"\nsecret = \"whsec_\"\n",
		"[[room]]\n", "a.b.c = 1979-05-27T07:32:00Z", "listen = '''\n", "room_idle = \"65535w\"\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		c := Config{Home: "/home/me/post"}
		err := c.parse(text)
		if err == nil {
			err = c.Check()
		}
		if err == nil {
			_ = c.For("lab")
		} else if mail.CodeOf(err) != mail.Invalid || err.Error() == "" {
			t.Errorf("%q: %v", text, err)
		}
		var p Project
		if err := p.parse("x", text); err != nil && mail.CodeOf(err) == mail.Internal {
			t.Errorf("%q: %v", text, err)
		}
	})
}

// FuzzDuration checks that a parsed span of time is not negative unless it is forever, and that writing and parsing
// it returns the same.
func FuzzDuration(f *testing.F) {
	for _, s := range []string{"30s", "1w2d3h", "forever", "65535w", "300000000000h", "-1s", "1d-1h", "1h1d", "1.5h",
		"9223372036s"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, err := ParseDuration(s)
		if err != nil {
			return
		}
		if d < 0 && d != Forever {
			t.Fatalf("%q is %v", s, time.Duration(d))
		}
		if again, err := ParseDuration(d.String()); err != nil || again != d {
			t.Errorf("%q is %v, written as %q, read as %v: %v", s, time.Duration(d), d, time.Duration(again), err)
		}
	})
}

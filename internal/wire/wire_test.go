package wire

import (
	"net/http"
	"testing"

	"pennypost/internal/mail"
)

func TestAgent(t *testing.T) {
	for _, n := range []mail.Name{"ann", "小克 builder", "a/b?c#d%20&é", "..", "\U0001F469\u200D\U0001F4BB",
		mail.Orchestrator, mail.User} {
		h := http.Header{}
		SetAgent(h, n)
		if got, err := Agent(h); got != n || err != nil {
			t.Errorf("Agent of %q = %q, %v, after %q", h.Get(AgentHeader), got, err, n)
		}
	}
	if got, err := Agent(http.Header{}); got != mail.User || err != nil {
		t.Errorf("Agent of nothing = %q, %v, want the user", got, err)
	}
	for _, c := range []struct {
		values []string
		want   mail.Code
	}{
		{[]string{""}, mail.Invalid},
		{[]string{"ann", "bob"}, mail.Invalid},
		{[]string{"%zz"}, mail.Invalid},
		{[]string{"%FF"}, mail.Invalid},
		{[]string{"a%00"}, mail.Invalid},
		{[]string{"a%0Ab"}, mail.Invalid},
		{[]string{"system"}, mail.Denied},
		{[]string{"agent:ann"}, mail.Invalid},
	} {
		if got, err := Agent(http.Header{AgentHeader: c.values}); mail.CodeOf(err) != c.want {
			t.Errorf("Agent of %q = %q, %v, want %s", c.values, got, err, c.want)
		}
	}
}

func FuzzAgent(f *testing.F) {
	f.Add("小克 builder")
	f.Fuzz(func(t *testing.T, name string) {
		h := http.Header{}
		SetAgent(h, mail.Name(name))
		if got, err := Agent(h); err == nil && string(got) != name {
			t.Errorf("%q came back as %q", name, got)
		}
	})
}

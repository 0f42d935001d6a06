package systemtest

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"pennypost/internal/mail"
)

// TestOneNameManySessions makes sessions claim one name at the same time. Each gets a name of its own.
func TestOneNameManySessions(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	const sessions = 6
	var claims sync.WaitGroup
	agents, errs := make([]*agent, sessions), make([]error, sessions)
	for i := range sessions {
		claims.Go(func() { agents[i], errs[i] = o.agent(eras()[i%2], "--as", "builder") })
	}
	claims.Wait()
	want, names := []string{"builder"}, []string(nil)
	for i, a := range agents {
		if errs[i] != nil {
			t.Fatal(errs[i])
		}
		defer a.session.Close()
		names = append(names, string(must[struct{ You mail.Name }](t, a, "list_agents", nil).You))
		if i > 0 {
			want = append(want, fmt.Sprintf("builder-%d", i+1))
		}
	}
	if slices.Sort(names); !slices.Equal(names, want) {
		t.Errorf("the sessions are called %q, want %q", names, want)
	}
}

// TestSessionNamesItself holds that an agent without a given name gets one from its client and directory, never the
// user's, and that its next session has it again.
func TestSessionNamesItself(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	for variable, want := range map[string]string{"CLAUDECODE=1": "claude-work",
		"GEMINI_CLI=1": "gemini-work", "X=": "agent-work", "PENNYPOST_AGENT=小克": "小克"} {
		o.env = []string{variable}
		for range 2 {
			a, err := o.agent(eraSessions)
			if err != nil {
				t.Fatal(err)
			}
			if got := must[struct{ You string }](t, a, "list_agents", nil).You; got != want {
				t.Errorf("with %s the session is called %q, want %q", variable, got, want)
			}
			if err := a.session.Close(); err != nil {
				t.Errorf("the server ended with %v\n%s", err, a.stderr)
			}
		}
	}
}

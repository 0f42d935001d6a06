package jetstream

import (
	"strings"
	"testing"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/room/journal/jetstream/natstest"
	"pennypost/internal/room/journal/jsonl"
)

// A user with the wrong password is told so, by commands and by sends, even if another server is down.
func TestRefused(t *testing.T) {
	t.Parallel()
	servers := natstest.Start(t, 1, natstest.Options{
		Config: "authorization { users: [ {user: ann, password: right} ] }\nno_auth_user: ann\n"})
	at := servers.Servers[0].Client
	dir := t.TempDir()
	dial := func(urls ...string) *Cluster {
		c, err := Connect(t.Context(), Config{URLs: urls, Replicas: 1})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	right := dial("nats://ann:right@" + at)
	awaitMachines(t, "who has the password is let in", func() bool { return right.Trouble() == nil })
	j, err := right.Open(t.Context(), "lab", dir, jsonl.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := j.Append(t.Context(), said("here")); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	wrong := dial("nats://ann:wrong@"+at, "nats://127.0.0.1:1")
	says := func(err error) bool {
		return mail.CodeOf(err) == mail.Unavailable && strings.Contains(err.Error(), "refuse this machine") &&
			strings.Contains(strings.ToLower(err.Error()), "authorization violation") &&
			strings.Contains(err.Error(), "config.toml")
	}
	awaitMachines(t, "it says so", func() bool { return says(wrong.Trouble()) && wrong.Refused() })
	time.Sleep(time.Second) // the other server has been tried meanwhile
	if err := wrong.Trouble(); !says(err) {
		t.Errorf("Trouble = %v", err)
	}
	if j, err = wrong.Open(t.Context(), "lab", dir, jsonl.Options{}); err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	_, err = j.Append(t.Context(), said("never"))
	if !says(err) || !strings.Contains(err.Error(), "Nothing was stored") {
		t.Errorf("Append = %v", err)
	}
	plain := dial("tls://ann:right@" + at)
	awaitMachines(t, "who wants TLS, and gets none, is told so", func() bool {
		return plain.Refused() && strings.Contains(plain.Trouble().Error(), "secure connection not available")
	})
}

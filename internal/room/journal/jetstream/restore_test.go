package jetstream

import (
	"fmt"
	"strings"
	"testing"

	"pennypost/internal/mail"
	"pennypost/internal/room/journal/jetstream/natstest"
	"pennypost/internal/room/journal/jsonl"
)

// A restoration that was interrupted after any of its steps is completed when it is called again, by the same
// machine, or by another if that one is away.
func TestRestoreCutOff(t *testing.T) {
	t.Parallel()
	servers := natstest.Start(t, 1, natstest.Options{})
	clusters := make(map[mail.Machine]*Cluster)
	for _, name := range []mail.Machine{"desk", "laptop"} {
		c, err := Connect(t.Context(), Config{URLs: servers.URLs(), Replicas: 1, Machine: name})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		awaitMachines(t, "a connection", func() bool { return c.Trouble() == nil })
		clusters[name] = c
	}
	desk, laptop := clusters["desk"], clusters["laptop"]
	dir := t.TempDir()
	open := func(c *Cluster) *Journal {
		t.Helper()
		j, err := c.Open(t.Context(), "lab", dir, jsonl.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return j
	}
	add := func(j *Journal, n int) {
		t.Helper()
		for i := range n {
			e := mail.Event{At: 1747750000000, Message: &mail.Message{
				ID: mail.ID(fmt.Sprint("msg_", j.Last(), "_", i)), Type: mail.Status, From: "user",
				To: []mail.Address{"all"}, Body: "text"}}
			if _, err := j.Append(t.Context(), e); err != nil {
				t.Fatal(err)
			}
		}
	}
	j := open(desk)
	add(j, 700) // more than one batch
	here := func(mail.Machine) bool { return false }
	away := func(mail.Machine) bool { return true }
	for name, cut := range map[string]func(*jsonl.Journal) error{
		"taken out": func(f *jsonl.Journal) error {
			_, err := desk.takeOut(t.Context(), "lab", f.Last(), here)
			return err
		},
		"deleted": func(f *jsonl.Journal) error {
			if _, err := desk.takeOut(t.Context(), "lab", f.Last(), here); err != nil {
				return err
			}
			return desk.Delete(t.Context(), "lab")
		},
		"half copied": func(f *jsonl.Journal) error {
			l, err := desk.takeOut(t.Context(), "lab", f.Last(), here)
			if err != nil {
				return err
			}
			return desk.copyTo(t.Context(), l, f, f.Last()/2)
		},
	} {
		t.Run(name, func(t *testing.T) {
			before, err := j.Survey(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if err := j.Close(); err != nil {
				t.Fatal(err)
			}
			files, err := jsonl.Open(dir, jsonl.Options{Copy: true})
			if err != nil {
				t.Fatal(err)
			}
			if err := cut(files); err != nil {
				t.Fatal(err)
			}
			if why, err := desk.Damage(t.Context(), "lab", before); err != nil || why == "" {
				t.Errorf("the damage is %q, %v", why, err)
			}
			if name != "deleted" {
				err := laptop.Restore(t.Context(), "lab", files, here)
				if mail.CodeOf(err) != mail.Conflict || !strings.Contains(err.Error(), "by the machine desk") {
					t.Errorf("two restore it at once: %v", err)
				}
				if err := laptop.Restore(t.Context(), "lab", files, away); err != nil {
					t.Error(err)
				}
			} else if err := desk.Restore(t.Context(), "lab", files, here); err != nil {
				t.Error(err)
			}
			if why, err := desk.Damage(t.Context(), "lab", before); err != nil || why != "" {
				t.Errorf("afterwards the damage is %q, %v", why, err)
			}
			files.Close()
			j = open(desk)
			after, err := j.Survey(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if lacks, besides, differs := after.Against(before); lacks != 0 || besides != 0 || differs {
				t.Errorf("lacks %d, besides %d, differs %t", lacks, besides, differs)
			}
			add(j, 1)
			if v, err := j.Verify(t.Context()); err != nil || len(v.Problems) > 0 {
				t.Errorf("verify: %v, %v", v.Problems, err)
			}
		})
	}
	j.Close()
}

// A stream that is further than the copy is not given up.
func TestRestoreBehind(t *testing.T) {
	t.Parallel()
	servers := natstest.Start(t, 1, natstest.Options{})
	c, err := Connect(t.Context(), Config{URLs: servers.URLs(), Replicas: 1, Machine: "desk"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	awaitMachines(t, "a connection", func() bool { return c.Trouble() == nil })
	j, err := c.Open(t.Context(), "lab", t.TempDir(), jsonl.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	event := mail.Event{At: 1747750000000, Message: &mail.Message{ID: "msg_a", Type: mail.Status, From: "user",
		To: []mail.Address{"all"}, Body: "text"}}
	if _, err := j.Append(t.Context(), event); err != nil {
		t.Fatal(err)
	}
	empty, err := jsonl.Open(t.TempDir(), jsonl.Options{Copy: true})
	if err != nil {
		t.Fatal(err)
	}
	defer empty.Close()
	err = c.Restore(t.Context(), "lab", empty, func(mail.Machine) bool { return true })
	if mail.CodeOf(err) != mail.Conflict {
		t.Errorf("it is made anew from less: %v", err)
	}
	event.Message.ID = "msg_b"
	if _, err := j.Append(t.Context(), event); err != nil {
		t.Errorf("afterwards it takes no mail: %v", err)
	}
}

package systemtest

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"pennypost/internal/mail"
	"pennypost/internal/room/journal/jetstream/natstest"
)

// TestP5_AdmittedMachines holds that the address of the NATS servers opens no room: a machine can read there, but
// its mail is refused, with the command to type, until it is admitted on a machine that is in. A machine that was
// removed is out again.
func TestP5_AdmittedMachines(t *testing.T) {
	t.Parallel()
	servers := natstest.Start(t, 1, natstest.Options{})
	desk, laptop := newOffice(t), newOffice(t)
	for name, o := range map[string]*office{"desk": desk, "laptop": laptop} {
		writeConfig(t, o, fmt.Sprintf("[journal]\nkind = \"jetstream\"\nurls = [%q]\nreplicas = 1\n"+
			"[machine]\nname = %q\n", servers.URLs()[0], name))
	}
	desk.mustServe(t)
	there := laptop.mustServe(t)
	desk.must(t, "send", "--to", "user", "--room", "lab", "--body", "first")
	eventually(t, "the room is closed to others, who can read it", func() bool {
		r := laptop.run("send", "--to", "user", "--room", "lab", "--body", "not yet")
		return strings.Contains(r.stderr, "this machine was not admitted to it yet") &&
			strings.Contains(laptop.must(t, "inbox", "--room", "lab"), "first")
	})
	secret := ask[mail.Sent](t, desk, "send", "--to", "user", "--room", "lab", "--body", "a secret")
	copied := func() string {
		text, err := os.ReadFile(laptop.home + "/rooms/lab/mailbox.jsonl")
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	eventually(t, "it is read there", func() bool { return strings.Contains(copied(), "a secret") })
	desk.must(t, "erase", "--room", "lab", string(secret.ID))
	eventually(t, "the machine that only reads erases its copy", func() bool {
		return !strings.Contains(copied(), "a secret")
	})
	r := laptop.run("send", "--to", "user", "--room", "lab", "--body", "refused")
	says := regexp.MustCompile(`pennypost (machines admit laptop \S{43})`)
	if r.code == 0 || !says.MatchString(r.stderr) {
		t.Fatalf("a machine that was not admitted is told: %d %s", r.code, r.stderr)
	}
	line := says.FindStringSubmatch(laptop.must(t, "machines", "admit"))
	if line == nil {
		t.Fatal("it does not say by what it is admitted")
	}
	desk.must(t, strings.Fields(line[1])...)
	eventually(t, "what it sends comes", func() bool {
		return laptop.run("send", "--to", "user", "--room", "lab", "--body", "let in").code == 0
	})
	eventually(t, "the other machine has it", func() bool {
		return strings.Contains(desk.must(t, "inbox", "--room", "lab"), "let in")
	})
	if got := desk.must(t, "inbox", "--room", "lab"); strings.Contains(got, "refused") {
		t.Errorf("the inbox has what was refused: %s", got)
	}
	if err := there.terminate(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it can be removed", func() bool { return desk.run("machines", "remove", "laptop").code == 0 })
	laptop.mustServe(t)
	r = laptop.run("send", "--to", "user", "--room", "lab", "--body", "after the end")
	if r.code == 0 || !strings.Contains(r.stderr, "was removed from it") {
		t.Errorf("a removed machine is told: %d %s %s", r.code, r.stdout, r.stderr)
		j, _ := os.ReadFile(desk.home + "/rooms/lab/mailbox.jsonl")
		t.Log(string(j))
	}
}

package systemtest

import (
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/room/journal/jetstream/natstest"
)

// told is the time within which a stopped server must be reported, with a large margin: five seconds suffice where
// the processors are idle. The log has the figures.
const told = 10 * time.Second

// TestServersHealth ends and stops some of three servers, as people, power cuts and hanging disks do, and holds that
// machines, doctor, the pages and one notification from the three machines report it within seconds, and its end.
func TestServersHealth(t *testing.T) {
	t.Parallel()
	servers := natstest.Start(t, 3, natstest.Options{})
	notes := filepath.Join(t.TempDir(), "notes")
	machines := map[string]*office{"desk": newOffice(t), "laptop": newOffice(t), "tower": newOffice(t)}
	for name, o := range machines {
		onServers(t, o, servers, name, "jetstream")
		config := filepath.Join(o.home, "config.toml")
		text, err := os.ReadFile(config)
		if err != nil {
			t.Fatal(err)
		}
		var monitor []string
		for _, s := range servers.Servers {
			monitor = append(monitor, fmt.Sprintf("%q", "http://"+s.Monitor))
		}
		all := strings.Replace(string(text), fmt.Sprintf("monitor = [%q]", "http://"+servers.Servers[0].Monitor),
			"monitor = ["+strings.Join(monitor, ", ")+"]", 1)
		say := fmt.Sprintf("echo %s: $PENNYPOST_SUBJECT $PENNYPOST_TEXT >> %s", name, notes)
		all += fmt.Sprintf("[notify.command]\nexec = [\"sh\", \"-c\", %q]\n", say)
		if err := os.WriteFile(config, []byte(all), 0o600); err != nil {
			t.Fatal(err)
		}
		o.mustServe(t, "--listen", "127.0.0.1:0")
	}
	desk, laptop := machines["desk"], machines["laptop"]
	desk.must(t, "send", "--to", "user", "--room", "lab", "--body", "first")
	calm := func(o *office) bool {
		got := o.must(t, "machines")
		return strings.Count(got, " up ") == 3 && strings.Count(got, "syncs each write") == 3 &&
			strings.Contains(got, "One more of them may fail") && !strings.Contains(got, "→")
	}
	eventually(t, "all are up on the desk", func() bool { return calm(desk) })
	eventually(t, "all are up on the laptop", func() bool { return calm(laptop) })
	if r := desk.run("doctor"); !strings.Contains(r.stdout, "a test message was written to a file") ||
		!strings.Contains(r.stdout, "a test message was written to the NATS servers in ") ||
		!strings.Contains(r.stdout, "and read over n") {
		t.Errorf("doctor: exit %d\n%s", r.code, r.stdout)
	}
	page := pageOf(t, desk)
	read := func() string {
		text, _ := os.ReadFile(notes)
		return string(text)
	}
	notesOf := func(words string) (n int) {
		for line := range strings.Lines(read()) {
			if strings.Contains(line, words) {
				n++
			}
		}
		return n
	}
	// A busy machine may look like a stopped server; still only one machine tells the person.
	tellers := func(words string) (n int) {
		who := make(map[string]bool)
		for line := range strings.Lines(read()) {
			if name, text, _ := strings.Cut(line, ":"); strings.Contains(text, words) {
				who[name] = true
			}
		}
		return len(who)
	}
	secret := ask[mail.Sent](t, desk, "send", "--to", "user", "--room", "lab", "--body", "a secret")
	desk.must(t, "erase", "--room", "lab", string(secret.ID))
	const pending = "The text of an erased message may still be in the NATS servers' own logs"
	eventually(t, "the other machines say that an erasure is pending", func() bool {
		return strings.Contains(laptop.must(t, "machines"), pending)
	})
	if !strings.Contains(page(), strings.ReplaceAll(pending, "'", "&#39;")) {
		t.Errorf("the page does not say that an erasure is pending:\n%s", page())
	}
	for i, stop := range []struct {
		how       string
		stop, end func(*natstest.Server) error
	}{
		{"killed", func(s *natstest.Server) error { s.Kill(); return nil }, (*natstest.Server).Start},
		{"hangs", (*natstest.Server).Suspend, (*natstest.Server).Resume},
	} {
		s := servers.Servers[i+1]
		began := time.Now()
		if err := stop.stop(s); err != nil {
			t.Fatal(err)
		}
		silent := "the NATS server " + s.Name + " has not answered since"
		said := func(what string, f func() bool) {
			t.Helper()
			eventually(t, stop.how+": "+what, f)
			took := time.Since(began).Round(100 * time.Millisecond)
			if t.Logf("%s: %s after %v", stop.how, what, took); took > told {
				t.Errorf("%s: %s after %v, want %v", stop.how, what, took, told)
			}
		}
		said("machines on the laptop", func() bool {
			got := laptop.must(t, "machines")
			return strings.Contains(got, silent) && strings.Contains(got, "No more of them may fail") &&
				strings.Contains(got, "not heard since ")
		})
		said("the page", func() bool { return strings.Contains(strings.ToLower(page()), strings.ToLower(silent)) })
		said("a notification", func() bool { return strings.Contains(read(), s.Name+" has not answered") })
		if r := desk.run("doctor"); r.code != 1 || !strings.Contains(r.stdout, silent) ||
			!strings.Contains(r.stdout, "start the NATS server "+s.Name+" again") {
			t.Errorf("doctor: exit %d\n%s", r.code, r.stdout)
		}
		eventually(t, stop.how+": mail goes on", func() bool {
			return desk.run("send", "--to", "user", "--room", "lab", "--body", stop.how, "--key", stop.how).code == 0
		})
		if err := stop.end(s); err != nil {
			t.Fatal(err)
		}
		eventually(t, stop.how+": all are up again", func() bool { return calm(desk) && calm(laptop) })
		eventually(t, stop.how+": it is told that it is over", func() bool {
			return notesOf("The NATS servers have recovered") > i
		})
		if got := tellers(s.Name + " has not answered"); got != 1 {
			t.Errorf("%s: %d machines told:\n%s", stop.how, got, read())
		}
	}
	for _, s := range servers.Servers[1:] {
		s.Kill()
	}
	began := time.Now()
	eventually(t, "two are gone", func() bool {
		got := desk.must(t, "machines")
		return strings.Contains(got, "room lab takes no mail") && strings.Contains(got, "Mail has stopped")
	})
	t.Logf("two are gone: machines after %v", time.Since(began).Round(100*time.Millisecond))
	eventually(t, "two are gone: it is told", func() bool {
		return strings.Contains(read(), "Too few NATS servers answer: room lab takes no mail")
	})
	eventually(t, "two are gone: the tower shows it", func() bool {
		return strings.Contains(machines["tower"].must(t, "machines"), "room lab takes no mail")
	})
	if got := tellers("Too few NATS servers"); got != 1 {
		t.Errorf("two are gone: %d machines told:\n%s", got, read())
	}
	if r := desk.run("rooms"); !strings.Contains(r.stdout, "lab") {
		t.Errorf("rooms: exit %d\n%s", r.code, r.stdout)
	}
}

// pageOf logs a browser in to the pages of an office, and returns a function that reads its first page.
func pageOf(t *testing.T, o *office) func() string {
	t.Helper()
	link := strings.Fields(o.must(t, "open", "--print", "--plain"))[0]
	base, key, _ := strings.Cut(link, "/login?key=")
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar}
	r, err := browser.PostForm(base+"/login", url.Values{"key": {key}})
	if err != nil {
		t.Fatal(err)
	}
	r.Body.Close()
	return func() string {
		r, err := browser.Get(base + "/@lab/")
		if err != nil {
			return err.Error()
		}
		defer r.Body.Close()
		text, _ := io.ReadAll(r.Body)
		return string(text)
	}
}

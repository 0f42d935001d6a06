package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pennypost/internal/mail"
)

func env(vars map[string]string) func(string) string {
	return func(name string) string { return vars[name] }
}

func load(t *testing.T, text string, vars map[string]string) (Config, error) {
	t.Helper()
	home := Home(t.TempDir())
	if text != "" {
		if err := os.WriteFile(home.File(), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return Load(home, env(vars))
}

func TestLoadRefuses(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		vars       map[string]string
		want       []string
	}{
		{name: "unknown key", text: "\nlissten = \"x\"\n", want: []string{"config.toml:2:1", `"lissten"`,
			"did you mean listen?"}},
		{name: "unknown key in a section", text: "[room.retention]\nages = \"7d\"\n",
			want: []string{":2:1", "did you mean room.retention.age?"}},
		{name: "unknown key in a room", text: "[rooms.x.ttl]\nagentt = \"7d\"\n",
			want: []string{":2:1", "did you mean room.ttl.agent?"}},
		{name: "two unknown keys", text: "a1 = 1\nb2 = 2\n", want: []string{":1:1", ":2:1"}},
		{name: "wrong type", text: "insecure = \"yes\"\n",
			want: []string{"config.toml:1:12", "insecure is a string here; write true or false"}},
		{name: "a number for a text", text: "listen = 8765\n",
			want: []string{"config.toml:1:10", "listen is a whole number here; write a string"}},
		{name: "a text for a number", text: "[room]\nmax_body = \"64k\"\n",
			want: []string{"config.toml:2:12", "room.max_body is a string here; write a whole number"}},
		{name: "a text for a list", text: "[room]\ntag_namespaces = \"team\"\n",
			want: []string{"write a list, like [\"…\", \"…\"]"}},
		{name: "a number for a section", text: "[rooms]\nlab = 3\n",
			want: []string{"config.toml:2:7", "rooms.lab is a whole number here; write a section, [rooms.lab]"}},
		{name: "a number for a span", text: "room_idle = 10\n",
			want: []string{"room_idle is a whole number here; write a string, like"}},
		{name: "section twice a key", text: "[listen]\n", want: []string{"listen is a section here; write a string"}},
		{name: "a port alone", text: "listen = \"8765\"\n",
			want: []string{`"8765" is only a port`, `"127.0.0.1:8765"`}},
		{name: "no port", text: "[tls]\nlisten = \"0.0.0.0\"\n", want: []string{"HOST:PORT"}},
		{name: "a list of sections", text: "[[notify]]\nwhat = \"all\"\n",
			want: []string{"notify is a list of sections here; write a section, [notify]"}},
		{name: "misspelt section", text: "[tsl]\nlisten = \"x\"\n",
			want: []string{":1:2", "there is no section [tsl]; did you mean [tls]?"}},
		{name: "misspelt section below another", text: "[notify.nfty]\ntopic = \"x\"\n",
			want: []string{"there is no section [notify.nfty]; did you mean [notify.ntfy]?"}},
		{name: "misspelt section of a room", text: "[rooms.lab.retnetion]\nage = \"7d\"\n",
			want: []string{"there is no section [rooms.lab.retnetion]; did you mean [rooms.lab.retention]?"}},
		{name: "address of a webhook",
			text: "[notify.webhook]\nurl = \"https://x.example\"\n" +
				"secret = \"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYqr\"\n",
			want: []string{"[notify.webhook] has url", "webhook = \"https://x.example\""}},
		{name: "no address of a webhook",
			text: "[notify.webhook]\nsecret = \"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYqr\"\n",
			want: []string{"[notify.webhook] has no webhook", "https://"}},
		{name: "no toml", text: "listen = \n", want: []string{"config.toml:1:"}},
		{name: "not a duration", text: "\nroom_idle = \"soon\"\n",
			want: []string{"config.toml:2:", `"soon" is not a duration`}},
		{name: "UTF-16", text: "\xff\xfel\x00=\x00", want: []string{"config.toml is UTF-16", "UTF-8"}},
		{name: "UTF-16, big end first", text: "\xfe\xff\x00l\x00=", want: []string{"UTF-16"}},
		{name: "unknown key behind a mark", text: "\ufefflissten = \"x\"\n",
			want: []string{"config.toml:1:1", "did you mean listen?"}},
		{name: "level", text: "log_level = \"loud\"\n", want: []string{"debug, info, warn or error"}},
		{name: "body", text: "[room]\nmax_body = -1\n", want: []string{"[room] max_body"}},
		{name: "namespace", text: "[room]\ntag_namespaces = [\"agent\"]\n", want: []string{`"agent"`}},
		{name: "namespace of other rooms", text: "[room]\ntag_namespaces = [\"far\"]\n", want: []string{`"far"`}},
		{name: "orchestrator", text: "[room]\norchestrators = [\"user\"]\n",
			want: []string{"[room] orchestrators", `"user" is reserved`}},
		{name: "room name", text: "[rooms.\"../x\"]\nmax_body = 5\n", want: []string{`"../x" is not a room name`}},
		{name: "environment", vars: map[string]string{"PENNYPOST_IDLE_EXIT": "x"},
			want: []string{"PENNYPOST_IDLE_EXIT"}},
		{name: "journal kind", text: "[journal]\nkind = \"paper\"\n", want: []string{"[journal] kind", `"jetstream"`}},
		{name: "no servers", text: "[journal]\nkind = \"jetstream\"\n",
			want: []string{"[journal]", "urls = [\"nats://"}},
		{name: "no server's address", text: "[journal]\nurls = [\"10.0.0.1\"]\n",
			want: []string{"nats://10.0.0.1:4222"}},
		{name: "replicas", text: "[journal]\nreplicas = 9\n", want: []string{"replicas is 9"}},
		{name: "prefix", text: "[journal]\nprefix = \"a.b\"\n", want: []string{"prefix"}},
		{name: "certificate alone", text: "[journal]\ncert = \"x\"\n",
			want: []string{"[journal] has only one of cert and key"}},
		{name: "unknown key of the journal", text: "[journal]\nurl = [\"x\"]\n",
			want: []string{":2:1", "did you mean journal.urls?"}},
		{name: "machine", text: "[machine]\nname = \"my laptop\"\n", want: []string{"[machine] name", `"my laptop"`}},
		{name: "token socket", text: "token_socket = \"x.sock\"", want: []string{"token_socket"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := load(t, tt.text, tt.vars)
			if mail.CodeOf(err) != mail.Invalid {
				t.Fatalf("Load = %v, want an invalid error", err)
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("Load = %q, want it to contain %q", err, want)
				}
			}
		})
	}
}

// Editors on Windows start UTF-8 files with a byte order mark.
func TestByteOrderMark(t *testing.T) {
	c, err := load(t, "\ufefflisten = \"127.0.0.1:9\"\n", nil)
	if err != nil || c.Listen != "127.0.0.1:9" {
		t.Errorf("Load = %+v, %v", c, err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, ProjectFile), []byte("\ufeffroom = \"lab\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if p, err := FindProject(dir); err != nil || p.Room != "lab" {
		t.Errorf("FindProject = %+v, %v", p, err)
	}
}

func TestRoomOverlay(t *testing.T) {
	c, err := load(t, `
listen = "127.0.0.1:1"
[room]
max_body = 1000
orchestrators = ["lead"]
[room.limits]
children = 9
[room.retention]
count = 7
[rooms.big]
max_body = 2000
orchestrators = []
[rooms.big.limits]
children = -1
[rooms.big.retention]
age = "forever"
`, map[string]string{"PENNYPOST_LISTEN": "none"})
	if err != nil {
		t.Fatal(err)
	}
	if c.Listen != "none" {
		t.Errorf("Listen = %q, want that of the environment", c.Listen)
	}
	if r := c.For("other"); r.MaxBody != 1000 || r.Retention.Count != 7 || len(r.Orchestrators) != 1 ||
		r.Breakers().Children != 9 {
		t.Errorf("For(other) = %+v", r)
	}
	big := c.For("big")
	retention, _ := big.Policy()
	if len(big.Orchestrators) != 0 || big.Breakers().Children != -1 {
		t.Errorf("For(big) = %+v, want no orchestrators and no limit", big)
	}
	if big.MaxBody != 2000 || retention.Age >= 0 || retention.Count != 7 {
		t.Errorf("For(big) = %+v, want its own body and age and the count of all", big)
	}
}

// The output of print is an equivalent configuration.
func TestPrintLoadsAgain(t *testing.T) {
	c, err := load(t, "[rooms.\"小克\"]\ntag_namespaces = [\"team\"]\norchestrators = "+
		"[\"小克\"]\n[rooms.\"小克\".retention]\ncount = -1\n", nil)
	if err != nil {
		t.Fatal(err)
	}
	var first, second strings.Builder
	if err := c.Print(&first); err != nil {
		t.Fatal(err)
	}
	again := Config{Home: c.Home}
	if err := again.parse([]byte(first.String())); err != nil {
		t.Fatalf("the printed configuration does not load: %v\n%s", err, first.String())
	}
	if err := again.Print(&second); err != nil {
		t.Fatal(err)
	}
	if first.String() != second.String() {
		t.Errorf("printed again:\n%s\nwant\n%s", second.String(), first.String())
	}
}

func TestParseDuration(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want time.Duration
	}{
		{"30s", 30 * time.Second}, {"4h", 4 * time.Hour}, {"7d", 7 * 24 * time.Hour}, {"2w", 14 * 24 * time.Hour},
		{"1d12h", 36 * time.Hour}, {"1h30m", 90 * time.Minute}, {"0s", 0},
	} {
		got, err := ParseDuration(tt.in)
		if err != nil || time.Duration(got) != tt.want {
			t.Errorf("ParseDuration(%q) = %v, %v, want %v", tt.in, got, err, tt.want)
		}
		if back, err := ParseDuration(got.String()); err != nil || back != got {
			t.Errorf("ParseDuration(%q) = %v, %v, want %v again", got.String(), back, err, got)
		}
	}
	for _, in := range []string{"", "5", "-1h", "d", "1.5d", "99999999w", "1h-2m", "d1"} {
		if d, err := ParseDuration(in); err == nil {
			t.Errorf("ParseDuration(%q) = %v, want an error", in, d)
		}
	}
}

// The addresses of NATS servers may contain passwords, which must not be shown.
func TestJournalPrints(t *testing.T) {
	c, err := load(t, "[journal]\nkind = \"jetstream\"\nurls = [\"nats://post:hidden@10.0.0.1:4222\"]\n"+
		"[machine]\nname = \"laptop-2\"\n", nil)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := c.Print(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`kind = "jetstream"`, "post:xxxxx@10.0.0.1:4222", `name = "laptop-2"`,
		"replicas = 3"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the configuration is printed without %q:\n%s", want, text.String())
		}
	}
	if strings.Contains(text.String(), "hidden") {
		t.Errorf("the configuration is printed with a password:\n%s", text.String())
	}
	if _, err := load(t, "[journal]\nurls = [\"http://post:hidden@10.0.0.1\"]\n", nil); err == nil ||
		strings.Contains(err.Error(), "hidden") {
		t.Errorf("Load = %v, want an error without the password", err)
	}
}

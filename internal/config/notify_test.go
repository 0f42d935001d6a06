package config

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

const wholeNotify = `
[notify]
quiet = "22:00-07:30"
url = "https://box.example:8765/"

[notify.desktop]

[notify.ntfy]
topic = "pennypost-1f2e"
token = "tk_secret"
answers = true
reply_topic = "pennypost-back"
reply_token = "tk_back"
what = "all"
quiet = "none"

[notify.telegram]
token = "123456789:AAFsecretsecretsecretsecretsecretse"
answers = true

[notify.webhook]
webhook = "https://hooks.example/x?key=hidden"
secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

[notify.smtp]
host = "mail.example.org"
user = "me"
password_variable = "SMTP_PASSWORD"
from = "Pennypost <post@example.org>"
to = ["me@example.org"]

[notify.command]
exec = ["my-pager", "{subject}"]
text = false
quiet_urgent = true
`

// TestNotify checks that an empty section turns a channel on, that a channel's own setting overrides the general one,
// and that the printed form is equivalent, without secrets.
func TestNotify(t *testing.T) {
	if c, err := load(t, "", nil); err != nil || c.Notify != (Notify{}) {
		t.Errorf("without a section: %+v, %v", c.Notify, err)
	}
	c, err := load(t, wholeNotify, nil)
	if err != nil {
		t.Fatal(err)
	}
	n := &c.Notify
	if n.Desktop == nil || n.Webhook == nil || n.SMTP.PortOrDefault() != 587 || n.Ntfy.Topic != "pennypost-1f2e" {
		t.Fatalf("read %+v", n)
	}
	desktop, ntfy := n.Telling.Over(n.Desktop.Telling), n.Telling.Over(n.Ntfy.Telling)
	if desktop.Quiet != "22:00-07:30" || desktop.URL != "https://box.example:8765" || ntfy.What != "all" {
		t.Errorf("the desktop has %+v, ntfy %+v", desktop, ntfy)
	}
	if _, _, quiet := ntfy.Quiet.Next(time.Now()); quiet {
		t.Error("ntfy has quiet hours")
	}
	var b strings.Builder
	if err := c.Print(&b); err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"tk_", "1f2e", "pennypost-back", "MfKQ9r8", "AAFsecret"} {
		if strings.Contains(b.String(), secret) {
			t.Errorf("printed: %s\n%s", secret, b.String())
		}
	}
	for _, want := range []string{"[notify.desktop]", "[notify.smtp]", `quiet = "22:00-07:30"`, "port = 587"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("not printed: %s\n%s", want, b.String())
		}
	}
}

func TestNotifyRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"[notify]\nwhat = \"questons\"":     "[notify] what",
		"[notify]\nquiet = \"22-7\"":        `like "22:00-07:30"`,
		"[notify]\nquiet = \"07:00-07:00\"": "[notify] quiet",
		"[notify]\nurl = \"box:8765\"":      "[notify] url",
		"[notify]\ndesktop = true":          "config.toml:2",
		"[notify.desktop]\nquite = \"22:00-07:30\"": "did you mean " +
			"notify.desktop.quiet?",
		"[notify.ntfy]\n":                                                             "openssl rand",
		"[notify.ntfy]\ntopic = \"a b\"":                                              "[notify.ntfy] topic",
		"[notify.ntfy]\ntopic = \"a\"\nserver = \"ntfy.sh\"":                          "[notify.ntfy] server",
		"[notify.ntfy]\ntopic = \"a\"\nreply_topic = \"b\"":                           "answers = true",
		"[notify.ntfy]\ntopic=\"a\"\nanswers=true\nreply_topic=\"a\"":                 "not the topic",
		"[notify.telegram]\n":                                                         "@BotFather",
		"[notify.telegram]\ntoken = \"123:x/../y\"":                                   "not a bot's token",
		"[notify.telegram]\ntoken_file = \"bot\"":                                     "absolute path",
		"[notify.telegram]\ntoken_file = \"/t\"\nserver = \"http://x.org\"":           "readable on its way",
		"[notify.telegram]\ntoken_file = \"/t\"\nserver = \"https://x.org/a\"":        "must be an address",
		"[notify.webhook]\nwebhook = \"https://x.example\"":                           "no secret",
		"[notify.smtp]\nhost = \"m\"\nfrom = \"x\"":                                   "from",
		"[notify.smtp]\nhost=\"m\"\nfrom=\"a@b.c\"\nto=[\"a@b.c\"]\nuser=\"u\"":       "password_file",
		"[notify.smtp]\nhost=\"m.org\"\nfrom=\"a@b.c\"\nto=[\"a@b.c\"]\ntls=\"none\"": "not this machine",
		"[notify.command]\nexec = []":                                                 "not a command",
	} {
		if _, err := load(t, text, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// TestQuietHours covers spans over midnight, within a day, and over the nights of clock changes.
func TestQuietHours(t *testing.T) {
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip("no time zones here")
	}
	for _, tt := range []struct{ quiet, at, want string }{
		{"22:00-07:30", "2026-05-10 21:59", ""},
		{"22:00-07:30", "2026-05-10 22:00", "2026-05-11 07:30"},
		{"22:00-07:30", "2026-05-11 03:00", "2026-05-11 07:30"},
		{"22:00-07:30", "2026-05-11 07:30", ""},
		{"12:00-13:00", "2026-05-11 12:30", "2026-05-11 13:00"},
		{"22:00-07:30", "2026-03-28 23:00", "2026-03-29 07:30"}, // an hour is skipped
		{"22:00-07:30", "2026-10-24 23:00", "2026-10-25 07:30"}, // an hour is repeated
		{"none", "2026-05-11 03:00", ""},
		{"", "2026-05-11 03:00", ""},
	} {
		at, err := time.ParseInLocation("2006-01-02 15:04", tt.at, zone)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if end, ok := Quiet(tt.quiet).Ends(at); ok {
			got = end.Format("2006-01-02 15:04")
		}
		if begin, end, ok := Quiet(tt.quiet).Next(at); ok && (!end.After(at) || end.Sub(begin) > 12*time.Hour ||
			(tt.want != "") == begin.After(at)) {
			t.Errorf("%q: the next at %s are from %s to %s", tt.quiet, tt.at, begin, end)
		}
		if got != tt.want {
			t.Errorf("%q at %s ends at %q, want %q", tt.quiet, tt.at, got, tt.want)
		}
	}
}

// TestNotifyDocs checks that every example of docs/notify.md is a valid configuration, that each channel has one, and
// that each key is explained.
func TestNotifyDocs(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("..", "..", "docs", "notify.md"))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	parts := strings.Split(string(raw), "```")
	for i := 1; i < len(parts); i += 2 {
		text, ok := strings.CutPrefix(parts[i], "toml\n")
		if !ok {
			continue
		}
		c, err := load(t, text, nil)
		if err != nil {
			t.Errorf("%v\n%s", err, text)
		}
		for _, channel := range c.Notify.On() {
			seen[channel] = true
		}
	}
	for _, channel := range NotifyChannels() {
		if !seen[channel] {
			t.Errorf("there is no example of %s", channel)
		}
	}
	for _, key := range keys(reflect.TypeFor[Notify](), "") {
		if name := key[strings.LastIndexByte(key, '.')+1:]; !strings.Contains(string(raw), name) {
			t.Errorf("the key %s is not explained", key)
		}
	}
}

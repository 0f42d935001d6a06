package cli

import (
	"net"
	"os"
	"slices"
	"strings"
	"testing"

	"pennypost/internal/config"
)

// TestAddToConfig: an added setting takes effect, whatever the file already has, and is removed without a trace.
func TestAddToConfig(t *testing.T) {
	const listen = "listen = \"0.0.0.0:8766\" # set by pennypost to \"0.0.0.0:8766\""
	const tls = "[tls] # added by pennypost\n" + listen + "\n"
	const desktop = "[notify.desktop] # added by pennypost\n"
	for name, tt := range map[string]struct{ before, after string }{
		"no file":  {"", desktop + "\n" + tls},
		"other":    {"insecure = true\n", "insecure = true\n\n" + desktop + "\n" + tls},
		"no break": {"insecure = true", "insecure = true\n" + desktop + "\n" + tls},
		"breaks":   {"\ninsecure = true\n\n\n", "\ninsecure = true\n\n\n\n" + desktop + "\n" + tls},
		"the section": {"[tls] # for phones\n# cert = \"\"\n\n[notify.desktop]\r\n",
			"[tls] # for phones\n" + listen + "\n# cert = \"\"\n\n[notify.desktop]\r\n"},
		"the section alone": {"[notify.desktop]\n[tls]", "[notify.desktop]\n[tls]\n" + listen},
		"a comment":         {"# [tls]\n", "# [tls]\n\n" + desktop + "\n" + tls},
	} {
		t.Run(name, func(t *testing.T) {
			a, home := withConfig(t, tt.before)
			for _, err := range []error{a.AddToConfig("notify.desktop", "", ""),
				a.AddToConfig("tls", "listen", "0.0.0.0:8766")} {
				if err != nil {
					t.Fatal(err)
				}
			}
			if got, _ := os.ReadFile(home.File()); string(got) != tt.after {
				t.Errorf("the file is %q, want %q", got, tt.after)
			}
			if c, err := a.LoadConfig(); err != nil || c.TLS.Listen != "0.0.0.0:8766" || len(c.Notify.On()) != 1 {
				t.Errorf("it is read as %+v, %v", c, err)
			}
			if err := a.TakeFromConfig(); err != nil {
				t.Fatal(err)
			}
			if got, _ := os.ReadFile(home.File()); string(got) != tt.before {
				t.Errorf("without it the file is %q, want %q", got, tt.before)
			}
		})
	}
}

// TestConfigIsLeft: a person's changes to the configuration are theirs, and a setting that cannot be added is not
// there.
func TestConfigIsLeft(t *testing.T) {
	const set = "listen = \"1.2.3.4:8766\" # set by pennypost to \"0.0.0.0:8766\"\n"
	const listen = "listen = \"0.0.0.0:8766\" # set by pennypost to \"0.0.0.0:8766\"\n"
	for name, tt := range map[string]struct {
		before, after string
		changed       []string
	}{
		"another value": {"[tls] # added by pennypost\n" + set, "[tls] # added by pennypost\n" + set,
			[]string{"[tls]", `listen = "1.2.3.4:8766"`}},
		"more in the section": {"[notify.desktop] # added by pennypost\n# of ours\nquiet = \"22:00-7:00\"\n",
			"[notify.desktop] # added by pennypost\n# of ours\nquiet = \"22:00-7:00\"\n",
			[]string{"[notify.desktop]"}},
		"by hand": {"[tls]\nlisten = \"0.0.0.0:8766\"\n", "[tls]\nlisten = \"0.0.0.0:8766\"\n", nil},
		"more behind it": {"insecure = true\n[tls] # added by pennypost\n" + listen + "[room]\n",
			"insecure = true\n[room]\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			a, home := withConfig(t, tt.before)
			_, changed, err := a.AddedToConfig()
			if err != nil || !slices.Equal(changed, tt.changed) {
				t.Errorf("changed are %q, %v; want %q", changed, err, tt.changed)
			}
			if err := a.TakeFromConfig(); err != nil {
				t.Fatal(err)
			}
			if got, _ := os.ReadFile(home.File()); string(got) != tt.after {
				t.Errorf("the file is %q, want %q", got, tt.after)
			}
		})
	}
	const broken = "[tls]\nlisten = \"127.0.0.1:1\"\n"
	a, home := withConfig(t, broken)
	if err := a.AddToConfig("tls", "listen", "0.0.0.0:8766"); err == nil {
		t.Error("a key stands there twice, and nothing is said")
	}
	if got, _ := os.ReadFile(home.File()); string(got) != broken {
		t.Errorf("the file is %q", got)
	}
}

// TestNoPhoneGetsIn: if no phone could get in, nothing is changed, and the error says what to do.
func TestNoPhoneGetsIn(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for at, want := range map[string]string{
		"127.0.0.1:8766": "no phone can reach", "8766": "HOST:PORT", taken.Addr().String(): "--phone-at",
	} {
		text := ""
		if want == "--phone-at" {
			text = "[tls]\nurl = \"https://box.example\"\n"
		}
		a, home := withConfig(t, text)
		if err := a.LetPhonesIn(t.Context(), at); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("at %s: %v, want %s", at, err, want)
		}
		if got, _ := os.ReadFile(home.File()); string(got) != text {
			t.Errorf("at %s the file is %q", at, got)
		}
	}
}

// withConfig is an App with a configuration; "": without.
func withConfig(t *testing.T, text string) (*App, config.Home) {
	t.Helper()
	home := config.Home(t.TempDir())
	if text != "" {
		if err := os.WriteFile(home.File(), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return &App{Env: Env{Environ: []string{"PENNYPOST_HOME=" + string(home)}}}, home
}

package install

import (
	"encoding/xml"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pennypost/internal/mail"
)

func TestService(t *testing.T) {
	p := newPlace(t)
	o := p.options(User)
	o.Binary = "/opt/penny post/100%/pennypost"
	u, err := Service(o, "/data/a b", true)
	if err != nil {
		t.Fatal(err)
	}
	want := `[Unit]
Description=Pennypost, a post office for agents

[Service]
ExecStart="/opt/penny post/100%%/pennypost" serve
Environment="PENNYPOST_HOME=/data/a b"
Restart=on-failure
RestartSec=5

[Install]
WantedBy=default.target
`
	if diff := cmp.Diff(want, u.Text); diff != "" {
		t.Errorf("the unit (-want +got):\n%s", diff)
	}
	if u, _ := Service(o, "/data", false); strings.Contains(u.Text, "/data") {
		t.Errorf("the default data directory is written down: %s", u.Text)
	}

	o.GOOS = "darwin"
	o.Binary = "/opt/a&b <c>/pennypost"
	if u, err = Service(o, "/data", true); err != nil {
		t.Fatal(err)
	}
	var said []string
	for d := xml.NewDecoder(strings.NewReader(u.Text)); ; {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatalf("the agent's file is no XML: %v\n%s", err, u.Text)
		}
		if text, ok := token.(xml.CharData); ok && strings.TrimSpace(string(text)) != "" {
			said = append(said, string(text))
		}
	}
	if diff := cmp.Diff([]string{"Label", label, "ProgramArguments", o.Binary, "serve", "EnvironmentVariables",
		"PENNYPOST_HOME", "/data", "RunAtLoad", "KeepAlive", "SuccessfulExit"}, said); diff != "" {
		t.Errorf("the agent (-want +got):\n%s", diff)
	}
	if got, want := u.Start[0].String(), "launchctl load -w "+u.Path; got != want {
		t.Errorf("start by %q, want %q", got, want)
	}

	o.GOOS = "windows"
	if _, err := Service(o, "/data", true); mail.CodeOf(err) != mail.Invalid {
		t.Errorf("a service on Windows: %v", err)
	}
}

// TestPackagedUnit holds that a package's service is the one that "service install" would write.
func TestPackagedUnit(t *testing.T) {
	o := newPlace(t).options(User)
	o.Binary = "/usr/bin/pennypostd"
	u, err := Service(o, "", false)
	if err != nil {
		t.Fatal(err)
	}
	packaged, err := os.ReadFile(filepath.Join("..", "..", "..", "packaging", "pennypost.service"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(u.Text, string(packaged)); diff != "" {
		t.Errorf("packaging/pennypost.service (-written +packaged):\n%s", diff)
	}
}

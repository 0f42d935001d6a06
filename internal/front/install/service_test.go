package install

import (
	"encoding/xml"
	"io"
	"os"
	"os/exec"
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
KillMode=process
NoNewPrivileges=yes
SystemCallArchitectures=native
SystemCallFilter=~@clock @cpu-emulation @module @obsolete @raw-io @reboot @swap
SystemCallErrorNumber=EPERM
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
KeyringMode=private

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

// TestServiceIsHardened: the unit stays below the measured exposure, and denies nothing that the post office needs.
// Each restriction was tried with a user's own systemd (docs/install.md).
func TestServiceIsHardened(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "packaging", "pennypost.service"))
	if err != nil {
		t.Fatal(err)
	}
	for directive, why := range map[string]string{
		"PrivateUsers": "agents are known by the variables of their processes", "ProtectProc": "it needs PrivateUsers",
		"ProtectSystem": "it needs PrivateUsers", "ProtectHome": "it needs PrivateUsers",
		"PrivateTmp":            "it needs PrivateUsers, and the sockets of tmux are in /tmp",
		"PrivateDevices":        "it does not start",
		"CapabilityBoundingSet": "it does not start", "UMask": "bridged files are for all who share them",
		"RestrictNamespaces":     "agents that a door runs have sandboxes",
		"MemoryDenyWriteExecute": "Node does not run: codex",
	} {
		if strings.Contains(string(text), "\n"+directive+"=") {
			t.Errorf("the unit has %s=: %s", directive, why)
		}
	}
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("systemd-analyze is not here")
	}
	out, err := exec.Command("systemd-analyze", "security", "--offline=true", "--no-pager", "--threshold=76",
		filepath.Join("..", "..", "..", "packaging", "pennypost.service")).CombinedOutput()
	if err != nil {
		t.Errorf("systemd-analyze security: %v\n%s", err, out)
	}
}

// TestPackagedUnit: a package's service is the one that "service install" would write.
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

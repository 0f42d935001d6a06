package systemtest

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// readmeLines are the four lines of the README with which one begins to use Pennypost.
func readmeLines(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	first := strings.Join(strings.Split(string(text), "\n")[:25], "\n")
	_, first, found := strings.Cut(first, "Then use it.")
	if !found || !strings.Contains(first, "pennypost remove") {
		t.Fatal("the first 25 lines of the README say neither how it is used nor how it is removed")
	}
	var lines []string
	for _, m := range regexp.MustCompile(`(?m)^    (\S.*?)\s+#`).FindAllStringSubmatch(first, -1) {
		lines = append(lines, m[1])
	}
	if len(lines) != 4 {
		t.Fatalf("the README has the lines %q, want four", lines)
	}
	return lines
}

// newcomer is a person who has never had Pennypost: an empty home, and a PATH with only the system's programs, Go
// and some directories.
func newcomer(t *testing.T, path ...string) (o *office, home string) {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("tmux is not installed")
	}
	o = newOffice(t)
	home = filepath.Join(o.root, "newcomer")
	if err := os.Mkdir(home, 0o700); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("go", "env", "GOROOT", "GOCACHE", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	dirs := strings.Fields(string(out))
	o.home = filepath.Join(home, ".local", "state", "pennypost")
	path = append(path, filepath.Join(dirs[0], "bin"), "/usr/bin", "/bin")
	o.env = []string{"HOME=" + home, "PENNYPOST_HOME=", "PENNYPOST_LISTEN=127.0.0.1:0", "GOCACHE=" + dirs[1],
		"GOMODCACHE=" + dirs[2], "GOFLAGS=-mod=mod", "DISPLAY=", "WAYLAND_DISPLAY=", "XDG_RUNTIME_DIR=",
		"PATH=" + strings.ReplaceAll(strings.Join(path, ":"), "HOME", home)}
	return o, home
}

// withClaude adds a client: a program that prints its version. The real one is in package realclient.
func withClaude(t *testing.T, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "claude"), []byte("#!/bin/sh\necho '2.1.0 (Claude Code)'\n"),
		0o700); err != nil {
		t.Fatal(err)
	}
}

// builds types the README's line that builds both programs, and returns their directory and the screen.
func (w *terminal) builds(line string) (programs, screen string) {
	w.t.Helper()
	tree, err := filepath.Abs("../..")
	if err != nil {
		w.t.Fatal(err)
	}
	programs = filepath.Join(w.office.root, "pennypost")
	w.press("-l", "cd "+tree+" && clear && "+line+" devel "+programs+" && cd "+programs+" && echo that was it")
	w.press("Enter")
	for end := time.Now().Add(5 * time.Minute); !strings.Contains(screen, "\nthat was it\n"); screen = w.screen() {
		time.Sleep(100 * time.Millisecond)
		if time.Now().After(end) {
			w.t.Fatalf("the programs are not built: %s", w.screen())
		}
	}
	return programs, screen
}

// TestNewcomer types the README's four lines in an empty home, up to the first answered question, and removes
// everything again: the client's settings are then as they were.
func TestNewcomer(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds both programs")
	}
	lines := readmeLines(t)
	o, home := newcomer(t, "HOME/clients", "HOME/.local/bin")
	withClaude(t, filepath.Join(home, "clients"))
	own, settings := filepath.Join(home, ".local", "bin"), filepath.Join(home, ".claude", "settings.json")
	const before = "{\n    \"model\": \"opus\"   }\n"
	if err := os.MkdirAll(filepath.Dir(settings), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(settings, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}

	w := openSized(t, o, 120, 50, "bash", "--norc")
	w.builds(lines[0])
	w.press("-l", "clear").press("Enter")
	begun := time.Now()
	w.press("-l", lines[1]).press("Enter")
	w.sees("Link pennypost and pennypostd in " + own)
	w.press("Enter").sees("Claude Code is installed.", settings, "Make these changes? [Y/n]")
	w.press("Enter").sees("Not found here: codex", "Show a notification on this desktop")
	w.press("-l", "perhaps").press("Enter").sees("Type y or n")
	w.press("-l", "n").press("Enter").sees("Let phones and other machines in? [y/N]")
	w.press("Enter").sees("Does a question reach you here?", "1  Yes, that was one key")
	w.press("1").sees("Answered “Yes, that was one key”", lines[2], "    pennypost\n")
	t.Logf("from the built programs to the first answered question: %.1f s, of which the test typed five keys",
		time.Since(begun).Seconds())

	// The agent asks, as through its client's MCP server; the person answers with one key.
	w.press("-l", "clear; pennypost inbox").press("Enter").sees("Nothing is waiting.")
	w.press("-l", "clear; "+lines[2]).press("Enter").sees("Claude Code")
	o.must(t, "send", "--as", "builder", "--to", "user", "--subject", "Which port?", "--body", "x", "--option", "8080",
		"--option", "9090")
	w.press("-l", "clear; "+lines[3]).press("Enter").sees("Which port?", "1  8080")
	w.press("1").sees("Answered “8080”")
	w.press("q").gone("q quit")
	w.sees("bash-") // its screen is gone too

	// A phone is let in by a word, not by editing a file; any other word refuses it, as here.
	w.press("-l", "clear; pennypost open --phone").press("Enter").sees("Let phones and other machines in? [y/N]")
	w.press("Enter").sees("nothing was changed")

	// A second run finds everything in order, and does not repeat answered questions.
	w.press("-l", "clear; pennypost setup").press("Enter")
	w.sees("on your PATH", "Claude Code is set up already.", "Show a notification on this desktop")
	w.press("-l", "n").press("Enter").sees("Let phones and other machines in? [y/N]")
	w.press("Enter").sees("you have answered one before", "Setup is complete.")

	// A person who says no to everything keeps everything, and the post office continues.
	w.press("-l", "clear; pennypost remove").press("Enter")
	w.sees("Remove Pennypost from Claude Code? [Y/n]")
	w.press("-l", "n").press("Enter")
	w.sees("Remove " + filepath.Join(own, "pennypost") + "? [Y/n]")
	w.press("-l", "n").press("Enter")
	w.sees("Remove " + filepath.Join(own, "pennypostd") + "? [Y/n]")
	w.press("-l", "n").press("Enter")
	w.sees("Delete all mail", "[y/N]")
	w.press("Enter")
	w.sees("Stop the post office?", "[Y/n]")
	w.press("-l", "n").press("Enter")
	w.sees("stay in " + o.home)
	if running := o.daemons(); len(running) != 1 {
		t.Errorf("after a no there run %+v", running)
	}

	w.press("-l", "clear; pennypost remove").press("Enter").sees("Remove Pennypost from Claude Code? [Y/n]")
	w.press("Enter").sees("Remove " + filepath.Join(own, "pennypost") + "?")
	w.press("Enter").sees("Remove " + filepath.Join(own, "pennypostd") + "?")
	w.press("Enter").sees("Delete all mail", "[y/N]")
	w.press("-l", "y").press("Enter").sees("Deleted " + o.home)
	if text, err := os.ReadFile(settings); err != nil || string(text) != before {
		t.Errorf("the client's settings are %q, %v; want what they were", text, err)
	}
	left, err := os.ReadDir(own)
	if err != nil || len(left) > 0 {
		t.Errorf("in %s are %v, %v", own, left, err)
	}
	if _, err := os.Stat(o.home); !os.IsNotExist(err) {
		t.Errorf("%s is there still", o.home)
	}
	if left := o.daemons(); len(left) > 0 {
		t.Errorf("these run still: %+v", left)
	}
}

// TestNewcomerAlone types the README's lines where the PATH has only the system and Go: the line that scripts/build
// prints works, so does the one that setup prints for this shell, and the first question is asked without any
// client.
func TestNewcomerAlone(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds both programs")
	}
	lines := readmeLines(t)
	o, home := newcomer(t)
	w := openSized(t, o, 160, 50, "env", "SHELL=/bin/bash", "bash")
	programs, screen := w.builds(lines[0])
	said := regexp.MustCompile(`(?m)^type: (.*)$`).FindStringSubmatch(screen)
	if said == nil {
		t.Fatalf("scripts/build does not say how %s comes on the PATH: %s", programs, screen)
	}
	w.press("-l", "clear; ("+said[1]+"; cd /; pennypost --version && echo found)").press("Enter")
	w.sees("devel", "\nfound\n")

	w.press("-l", "clear; "+lines[1]).press("Enter")
	line := `echo 'export PATH="` + programs + `:$PATH"' >> ~/.bashrc && . ~/.bashrc`
	w.sees("The shell does not find pennypost and pennypostd yet. Type this:", "    "+line, "Not found here: claude, ",
		"no agent can have a mailbox yet", "Show a notification on this desktop")
	w.press("-l", "n").press("Enter").sees("Let phones and other machines in? [y/N]")
	w.press("Enter").sees("Does a question reach you here?", "1  Yes, that was one key")
	w.press("1").sees("Answered “Yes, that was one key”", "PENNYPOST_AGENT=builder CLIENT", "    pennypost\n")
	w.press("-l", "clear; "+line+" && cd /").press("Enter")
	w.press("-l", "clear; pennypost inbox").press("Enter").sees("Nothing is waiting.")
	withClaude(t, filepath.Join(home, "bin")) // it is installed later, and the shell learns where
	w.press("-l", "clear; PATH=$PATH:~/bin; pennypost install claude").press("Enter").sees("settings.json")
	w.press("-l", "clear; "+lines[2]).press("Enter").sees("Claude Code")
	o.must(t, "send", "--room", "default", "--as", "builder", "--to", "user", "--subject", "Which port?", "--body",
		"x", "--option", "8080", "--option", "9090")
	w.press("-l", "clear; "+lines[3]).press("Enter").sees("Which port?", "1  8080")
	w.press("1").sees("Answered “8080”")
	w.press("q").gone("q quit")
	w.press("-l", "clear; pennypost remove --yes --mail").press("Enter")
	w.sees(".bashrc contains the line that you typed", "Deleted "+o.home)
}

// TestSetupEveryYes: with every yes, setup's changes work, and remove undoes all of them while the mail is kept:
// files are byte for byte as they were.
func TestSetupEveryYes(t *testing.T) {
	o, home := newcomer(t, "HOME/clients", "HOME/.local/bin")
	withClaude(t, filepath.Join(home, "clients"))
	const before = "log_level = \"warn\"\n\n[tls]\nurl = \"https://box.example\" # a tunnel"
	file, own := filepath.Join(o.home, "config.toml"), filepath.Join(home, ".local", "bin")
	if err := os.MkdirAll(o.home, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	at := freeAddress(t)
	setup := o.must(t, "setup", "--dry-run")
	for _, want := range []string{"Link pennypost and pennypostd in " + own, "Claude Code is installed.",
		"Post office\nNothing to do", "asked: Show a notification",
		"Let phones and other machines in? (Enter: no)", "First question\nAn agent would ask you"} {
		if !strings.Contains(setup, want) {
			t.Errorf("a dry run does not say %q: %s", want, setup)
		}
	}
	if left, _ := os.ReadDir(home); len(left) != 2 { // .local, with the configuration, and clients
		t.Errorf("a dry run left %v", left)
	}

	w := openSized(t, o, 160, 50, "bash", "--norc")
	w.press("-l", "cd /; "+binary+" setup --phone-at "+at).press("Enter")
	w.sees("Link pennypost and pennypostd in " + own)
	w.press("-l", "y").press("Enter")
	w.sees("Linked.", "Make these changes? [Y/n]")
	w.press("-l", "y").press("Enter")
	w.sees("Show a notification on this desktop")
	w.press("-l", "y").press("Enter")
	w.sees("Let phones and other machines in? [Y/n]")
	w.press("-l", "y").press("Enter")
	w.sees("pennypost open --phone", "1  Yes, that was one key")
	w.press("1").sees("Setup is complete.")
	reachesOverTLS(t, o, at)

	w.press("-l", "clear; pennypost remove").press("Enter")
	w.sees("Remove Pennypost from Claude Code? [Y/n]")
	w.press("Enter")
	w.sees("Remove " + filepath.Join(own, "pennypost") + "? [Y/n]")
	w.press("Enter")
	w.sees("Remove " + filepath.Join(own, "pennypostd") + "? [Y/n]")
	w.press("Enter")
	w.sees("Delete all mail", "[y/N]")
	w.press("Enter")
	w.sees(`Remove [notify.desktop], listen = "` + at + `" from ` + file)
	w.press("Enter")
	w.sees("Stop the post office?", "[Y/n]")
	w.press("Enter")
	w.sees("stay in " + o.home)
	if text, err := os.ReadFile(file); err != nil || string(text) != before {
		t.Errorf("the configuration is %q, %v; want what it was", text, err)
	}
	for _, dir := range []string{own, filepath.Join(home, ".claude")} {
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Errorf("in %s are %v", dir, left)
		}
	}
	if left := o.daemons(); len(left) > 0 {
		t.Errorf("these run still: %+v", left)
	}
}

// TestForeignProgram: a file where the programs would be linked stops setup before anything is written.
func TestForeignProgram(t *testing.T) {
	o, home := newcomer(t, "HOME/clients", "HOME/.local/bin")
	withClaude(t, filepath.Join(home, "clients"))
	mine := filepath.Join(home, ".local", "bin", "pennypostd")
	if err := os.MkdirAll(filepath.Dir(mine), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(mine, []byte("mine\n"), 0o600); err != nil { // not a program: the shell does not find it
		t.Fatal(err)
	}
	r := o.run("setup", "--yes")
	if r.code == 0 || !strings.Contains(r.stderr, mine+" exists") || !strings.Contains(r.stderr, "Move it away") {
		t.Errorf("setup says %+v", r)
	}
	if left, _ := os.ReadDir(home); len(left) != 2 {
		t.Errorf("in the home are %v", left)
	}
}

// TestOpenPhone: after a yes to open --phone, the running post office makes its certificate and listens: nothing is
// edited or started by hand, and no mail is lost.
func TestOpenPhone(t *testing.T) {
	o, _ := newcomer(t)
	if err := os.MkdirAll(o.home, 0o700); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(o.home, "config.toml")
	if err := os.WriteFile(file, []byte("[tls]\nurl = \"https://box.example\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	at := freeAddress(t)
	o.must(t, "send", "--to", "user", "--subject", "Before", "--body", "x")
	was := o.daemons()
	w := openSized(t, o, 160, 60, binary, "open", "--phone", "--phone-at", at)
	w.tmux("set-option", "-t", "w", "remain-on-exit", "on")
	w.sees("Let phones and other machines in? [y/N]")
	w.press("-l", "y").press("Enter")
	w.sees("the post office restarts", "https://box.example/login?key=", reachesOverTLS(t, o, at))
	if screen := w.screen(); strings.Contains(screen, "␛") || !strings.Contains(screen, "█ ▄▄▄▄▄ █") {
		t.Errorf("there is no QR code to be read: %s", screen)
	}
	if now := o.daemons(); len(was) != 1 || len(now) != 1 || was[0].pid == now[0].pid {
		t.Errorf("the post office was %+v, and is %+v", was, now)
	}
	if out := o.must(t, "history"); !strings.Contains(out, "Before") {
		t.Errorf("the history is %s", out)
	}
	if text, _ := os.ReadFile(file); !strings.Contains(string(text), "[tls]\nlisten = \""+at+"\"") {
		t.Errorf("the configuration is %s", text)
	}
	// The second time there is nothing to ask.
	w.tmux("respawn-pane", "-k", "-t", "w", binary, "open", "--phone")
	w.sees("https://box.example/login?key=")
}

// freeAddress is an address of this machine without a listener.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// reachesOverTLS calls the post office as another machine would, and returns the fingerprint of its certificate, which
// is that of the file.
func reachesOverTLS(t *testing.T, o *office, at string) (fingerprint string) {
	t.Helper()
	eventually(t, "it listens at "+at, func() bool {
		conn, err := tls.Dial("tcp", at, &tls.Config{ServerName: "box.example", InsecureSkipVerify: true})
		if err != nil {
			return false
		}
		defer conn.Close()
		met := conn.ConnectionState().PeerCertificates[0]
		text, err := os.ReadFile(filepath.Join(o.home, "tls.pem"))
		if err != nil {
			t.Fatal(err)
		}
		ours := x509.NewCertPool()
		ours.AppendCertsFromPEM(text)
		if _, err := met.Verify(x509.VerifyOptions{DNSName: "box.example", Roots: ours}); err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(met.Raw)
		fingerprint = strings.ReplaceAll(fmt.Sprintf("% X", sum[:]), " ", ":")
		return true
	})
	return fingerprint
}

// TestSetupWithoutTerminal: in a script setup does what it proposes, or says what to type.
func TestSetupWithoutTerminal(t *testing.T) {
	o := newOffice(t)
	r := o.run("setup")
	if r.code != 2 || !strings.Contains(r.stderr, "--yes takes the default answers") {
		t.Errorf("without a terminal: %+v", r)
	}
	if out := o.must(t, "setup", "--dry-run"); !strings.Contains(out, "Nothing is changed") {
		t.Errorf("a dry run says %s", out)
	}
	if left, _ := os.ReadDir(filepath.Join(o.root, "nobody")); len(left) > 0 {
		t.Errorf("a dry run left %v", left)
	}
}

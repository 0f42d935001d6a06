package command

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pennypost/internal/front/cli"
	front "pennypost/internal/front/verbs"
	"pennypost/internal/office/daemon"
	"pennypost/internal/office/hook"
)

// manual returns the output of the whole program.
func manual(t *testing.T, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	env := cli.Env{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Dir: t.TempDir()}
	if got := Main(args, env); got != 0 || errs.Len() > 0 {
		t.Fatalf("pennypostd %v: exit status %d\n%s", args, got, errs.String())
	}
	return out.String()
}

// TestFrontKnowsTheOffice: the front lists the verbs of this program as this program does, and its help names all
// dialects and all clients.
func TestFrontKnowsTheOffice(t *testing.T) {
	var out, errs bytes.Buffer
	env := cli.Env{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Dir: t.TempDir()}
	if got := cli.Main([]string{"--help"}, env, front.Front()); got != 0 || errs.Len() > 0 {
		t.Fatalf("pennypost --help: exit status %d\n%s", got, errs.String())
	}
	whole := manual(t, "--help")
	if front := out.String(); front != whole {
		t.Errorf("the front says:\n%s\nand the whole program:\n%s", front, whole)
	}
	for _, v := range verbs() {
		if !v.New(&cli.App{}).Hidden && !regexp.MustCompile(`(?m)^    `+v.Name+` |also: `+v.Name).MatchString(whole) {
			t.Errorf("the manual does not name %s", v.Name)
		}
	}
	bridge := manual(t, "bridge", "--help")
	for _, d := range daemon.Dialects() {
		if listed := regexp.MustCompile(`\n +` + d.Name + ` +` + regexp.QuoteMeta(d.Where) +
			`\n`).MatchString(bridge); listed !=
			(d.Files != nil) {
			t.Errorf("bridge --help and the dialect %s do not agree", d.Name)
		}
	}
	_, clients, _ := strings.Cut(manual(t, "hook", "--help"), "Clients: ")
	clients, _, _ = strings.Cut(clients, ".")
	var names []string
	for _, c := range hook.Clients() {
		names = append(names, c.Name)
	}
	if got := strings.Split(clients, ", "); !slices.Equal(got, names) {
		t.Errorf("hook --help names %v, there are %v", got, names)
	}
}

// TestManual: every verb has a short and a long text and an example.
func TestManual(t *testing.T) {
	_, list, _ := strings.Cut(manual(t, "--help"), "\nCOMMANDS\n")
	list, _, _ = strings.Cut(list, "\n\n")
	for _, name := range append(regexp.MustCompile(`(?m)^    \S+`).FindAllString(list, -1), "poster", "demo-agent",
		"doors", "hook", "monitor") {
		name = strings.TrimSpace(name)
		text := manual(t, name, "--help")
		if !strings.HasPrefix(text, "pennypost "+name+" - ") || !strings.Contains(text, "\nDESCRIPTION\n    ") {
			t.Errorf("%s has no short or long text:\n%s", name, text)
		}
		if !strings.Contains(text, "\nEXAMPLES\n    ") && name != "version" {
			t.Errorf("%s has no example", name)
		}
		_, long, _ := strings.Cut(text, "\nDESCRIPTION\n")
		long, _, _ = strings.Cut(long, "\nOPTIONS")
		for line := range strings.Lines(long) {
			if len([]rune(line)) > 115 {
				t.Errorf("%s: the line %q is too long for a manual page", name, line)
			}
		}
	}
}

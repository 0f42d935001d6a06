package systemtest

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const machinesPage = "../../docs/machines.md"

// pageStep is a command of the page and its output.
type pageStep struct {
	machine, command string
	prints           []string
}

// The parts of the page.
const (
	oneOffice  = iota // that other machines use
	ownCluster        // by pennypost cluster
	yourServers
)

// machinesPart returns one of the parts of the page.
func machinesPart(t *testing.T, part int) string {
	t.Helper()
	page, err := os.ReadFile(machinesPage)
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(string(page), "\n## A cluster")
	if len(parts) != yourServers+1 {
		t.Fatalf("the page has %d parts", len(parts))
	}
	return parts[part]
}

// pageBlocks returns the texts in blocks of a language.
func pageBlocks(page, language string) (texts []string) {
	for i, block := range strings.Split(page, "```") {
		if text, ok := strings.CutPrefix(block, language+"\n"); ok && i%2 == 1 {
			texts = append(texts, text)
		}
	}
	return texts
}

// machineSteps reads the blocks of commands: "NAME$ COMMAND", with its output below.
func machineSteps(page string) (steps []pageStep) {
	prompt := regexp.MustCompile(`^([a-z]+)\$ (.*)$`)
	for _, text := range pageBlocks(page, "console") {
		for line := range strings.Lines(text) {
			line = strings.TrimSuffix(line, "\n")
			if m := prompt.FindStringSubmatch(line); m != nil {
				steps = append(steps, pageStep{machine: m[1], command: m[2]})
			} else {
				last := &steps[len(steps)-1]
				last.prints = append(last.prints, line)
			}
		}
	}
	return steps
}

// typed types a command in a shell on a machine, which prints errors along with the output.
func typed(t *testing.T, o *office, command string) result {
	t.Helper()
	cmd := o.command(t.Context(), "-c", "exec 2>&1; "+command)
	cmd.Path, cmd.Args[0] = "/bin/sh", "sh"
	return finishWith(cmd, nil)
}

// is reports whether a command did as on the page: it printed the lines there, in any place; or, if the page has none,
// it succeeded.
func (s *pageStep) is(r result, page *strings.Replacer) bool {
	if len(s.prints) == 0 {
		return r.code == 0
	}
	pattern := strings.ReplaceAll(regexp.QuoteMeta(page.Replace(strings.Join(s.prints, "\n"))), "…", `(?s:.*?)`)
	return regexp.MustCompile(`^(?:.*\n)*?` + pattern).MatchString(r.stdout)
}

// not describes the output of a command that differs from the page.
func (s *pageStep) not(r result) string {
	return fmt.Sprintf("%s$ %s: exit %d\n%s\nThe page has:\n%s", s.machine, s.command, r.code, r.stdout,
		strings.Join(s.prints, "\n"))
}

// The page's values for parts of the output that differ from run to run.
const (
	pageURL  = "https://192.168.1.5:8766"
	pageCode = "h059h6e9zmzr5thgqsajndw8rdk75kxx008wpfv28pa8qk0q"
)

// TestMachinesPage types the commands of docs/machines.md on two machines, which here are two data directories.
func TestMachinesPage(t *testing.T) {
	t.Parallel()
	machines := map[string]*office{"desk": newOffice(t), "laptop": newOffice(t)}
	url, code := "", ""
	joins := regexp.MustCompile(`(?m)^pennypost join (\S+) (\S{48})$`)
	for _, step := range machineSteps(machinesPart(t, oneOffice)) {
		o := machines[step.machine]
		if o == nil {
			t.Fatalf("nobody is called %s", step.machine)
		}
		if step.command == "pennypost serve --tls" {
			at := "127.0.0.1:0"
			if url != "" { // it was stopped, and is back
				at = strings.TrimPrefix(url, "https://")
			}
			d := o.mustServe(t, "--tls="+at)
			t.Cleanup(d.kill)
			url = d.HTTPS
			continue
		}
		r := typed(t, o, strings.NewReplacer(pageURL, url, pageCode, code).Replace(step.command))
		if m := joins.FindStringSubmatch(r.stdout); m != nil {
			code = m[2]
		}
		if !step.is(r, strings.NewReplacer(pageURL, url, pageCode, code)) {
			t.Fatal(step.not(r))
		}
	}
	if _, err := os.Stat(filepath.Join(machines["laptop"].home, "rooms")); err == nil {
		t.Error("the laptop has rooms of its own")
	}
}

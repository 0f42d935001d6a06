package cli

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pennypost/internal/config"
	"pennypost/internal/front/install"
	"pennypost/internal/mail"
)

const doctorHelp = `Look whether everything is in order: this program, the data directory, the post office, and what agent
clients are configured to start. Each program that a client starts is tried, in a data directory of its own
that is gone afterwards. Nothing is changed; what is wrong comes with what to type to mend it.

The exit status is 0 if all is well and 1 otherwise.`

func newDoctor(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "doctor", Short: "find what is wrong, and say how to mend it", Long: doctorHelp,
		Example: "pennypost doctor\npennypost doctor --json",
		Args:    noArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.doctor(cmd.Context()) },
	}
}

// finding is what doctor says of one thing.
type finding struct {
	Check string  `json:"check"`
	State verdict `json:"state"`
	Text  string  `json:"text"`
	Fix   string  `json:"fix,omitempty"` // what to type
}

type verdict string

const (
	well    verdict = "ok"
	note    verdict = "note" // nothing is wrong, and something could be better
	problem verdict = "problem"
)

// doctor collects findings.
type doctor struct {
	app      *app
	cfg      config.Config
	findings []finding
}

func (d *doctor) say(check string, state verdict, fix, format string, args ...any) {
	d.findings = append(d.findings, finding{check, state, fmt.Sprintf(format, args...), fix})
}

func (a *app) doctor(ctx context.Context) error {
	d := &doctor{app: a}
	self := d.program(ctx)
	if home, ok := d.directory(); ok {
		d.postOffice(ctx, home)
		d.doors(ctx)
	}
	binaries := d.clients(self)
	d.service()
	for _, binary := range binaries {
		d.probe(ctx, binary)
	}
	sick := slices.ContainsFunc(d.findings, func(f finding) bool { return f.State == problem })
	if a.json {
		a.out.value(struct {
			OK     bool      `json:"ok"`
			Checks []finding `json:"checks"`
		}{!sick, d.findings})
	} else {
		d.print(sick)
	}
	if sick {
		return silent{exitFailed}
	}
	return nil
}

func (d *doctor) print(sick bool) {
	out := d.app.out
	for _, f := range d.findings {
		mark := string(f.State)
		if f.State == problem {
			mark = out.red("WRONG")
		}
		out.table([][]string{{pad(mark, 5), pad(f.Check, 11), oneLine(f.Text)}})
		if f.Fix != "" {
			out.line("%s%s", strings.Repeat(" ", 20), out.bold("→ "+oneLine(f.Fix)))
		}
	}
	if !sick {
		out.line("All is well.")
	}
}

// program looks at this program, and returns the path that clients should start.
func (d *doctor) program(ctx context.Context) string {
	self, err := install.Binary()
	if err != nil {
		d.say("program", problem, "go build -o pennypost .", "%s", err.Error())
		return ""
	}
	d.say("program", well, "", "%s, version %s", self, version())
	found, err := exec.LookPath("pennypost")
	switch {
	case err != nil:
		d.say("path", note, "ln -s "+self+" ~/.local/bin/pennypost",
			"the shell does not find pennypost, so the commands that agents are told of do not work")
	case !sameFile(found, self):
		other, _ := versionOf(ctx, found)
		d.say("path", problem, "which -a pennypost", "the shell finds another program: %s, version %s", found, other)
	}
	return self
}

// versionOf asks a program for its version.
func versionOf(ctx context.Context, binary string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, probePatience)
	defer cancel()
	out, err := exec.CommandContext(ctx, binary, "version").Output()
	if err != nil {
		return "unknown", err
	}
	words := strings.Fields(string(out))
	if len(words) < 2 || words[0] != "pennypost" {
		return "unknown", mail.Errorf(mail.Invalid, "it is not Pennypost")
	}
	return words[1], nil
}

// littleSpace is how many bytes should be free where mail is kept: a full disk refuses mail.
const littleSpace = 100 << 20

// directory looks at the data directory.
func (d *doctor) directory() (config.Home, bool) {
	home, err := config.FindHome(d.app.env.Getenv)
	if err != nil {
		d.say("data", problem, "export PENNYPOST_HOME=~/.local/state/pennypost", "%s", err.Error())
		return "", false
	}
	info, err := os.Stat(string(home))
	switch {
	case os.IsNotExist(err):
		d.say("data", well, "", "%s is not there yet; the first command makes it", home)
		return home, true
	case err != nil:
		d.say("data", problem, "ls -ld "+string(home), "%s", err.Error())
		return home, false
	case !info.IsDir():
		d.say("data", problem, "mv "+string(home)+" "+string(home)+".old", "%s is no directory", home)
		return home, false
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0:
		d.say("data", problem, "chmod 700 "+string(home), "others can read %s (mode %#o)", home, info.Mode().Perm())
	default:
		d.say("data", well, "", "%s", home)
	}
	if info, err := os.Stat(home.Token()); err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		d.say("data", problem, "chmod 600 "+home.Token(), "others can read the operator's token")
	}
	if err := home.CheckSocket(false); err != nil {
		d.say("socket", problem, "rm -r "+filepath.Dir(home.Socket()), "%s", err.Error())
	}
	if free, ok := freeSpace(string(home)); ok && free < littleSpace {
		d.say("disk", problem, "df -h "+string(home), "only %s are free where mail is kept; a full disk refuses mail",
			size(free))
	}
	cfg, err := config.Load(home, d.app.env.Getenv)
	if err != nil {
		d.say("config", problem, "pennypost config check", "%s", err.Error())
	}
	d.cfg = cfg
	return home, true
}

// postOffice looks whether one runs, and whether it is of this version. None is started.
func (d *doctor) postOffice(ctx context.Context, home config.Home) {
	office, err := d.app.quietOffice()
	if err != nil {
		return // it was said of the socket
	}
	defer office.Close()
	ctx, cancel := context.WithTimeout(ctx, probePatience)
	defer cancel()
	st, err := office.Status(ctx)
	switch {
	case mail.CodeOf(err) == mail.Unavailable && d.app.env.Getenv("PENNYPOST_AUTOSTART") == "0":
		d.say("office", problem, "pennypost serve",
			"no post office runs, and PENNYPOST_AUTOSTART=0 keeps commands from starting one")
		return
	case mail.CodeOf(err) == mail.Unavailable:
		d.say("office", well, "", "none runs; the first command starts one")
		return
	case err != nil:
		d.say("office", problem, "pennypost stop", "it does not answer: %s; its log is %s", err.Error(), home.Log())
		return
	case st.Version != version():
		d.say("office", problem, "pennypost stop",
			"it runs in version %s, and this program is %s; once stopped, the next command starts this one",
			st.Version, version())
	default:
		d.say("office", well, "", "it runs, process %d", st.PID)
	}
	for _, f := range st.Failing {
		d.say("bridge", problem, "pennypost bridge list", "%s", f)
	}
	for _, address := range st.Listen {
		d.web(ctx, address)
	}
}

// web asks the post office over HTTP whether it is healthy.
func (d *doctor) web(ctx context.Context, address string) {
	if !strings.HasPrefix(address, "http") {
		return
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(address, "/")+"/healthz", nil)
	if err != nil {
		return
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		d.say("http", problem, "pennypost stop", "%s does not answer: %s", address, err.Error())
		return
	}
	res.Body.Close()
	if res.StatusCode != http.StatusOK {
		d.say("http", problem, "pennypost stop", "%s/healthz answers %s", address, res.Status)
		return
	}
	d.say("http", well, "", "%s answers", address)
}

// clients looks at what is configured, and returns the programs that are started by it, this one among them.
func (d *doctor) clients(self string) []string {
	binaries := map[string]bool{}
	if self != "" {
		binaries[self] = true
	}
	o, err := d.app.installOptions(installFlags{})
	if err != nil {
		return slices.Sorted(maps.Keys(binaries))
	}
	for _, r := range install.Look(*o) {
		d.client(&r, self, binaries)
	}
	return slices.Sorted(maps.Keys(binaries))
}

func (d *doctor) client(r *install.Report, self string, binaries map[string]bool) {
	again := "pennypost install " + r.Client.Name
	if r.Scope == install.Project {
		again += " --project"
	}
	name := r.Client.Title + " (" + string(r.Scope) + ")"
	before := len(d.findings)
	for _, f := range r.Files {
		if f.Err != nil && (r.Present || r.Installed()) {
			d.say("client", problem, "$EDITOR "+f.Path, "%s: %s", name, f.Err.Error())
		}
		d.entries(&f, name, self, again, binaries)
	}
	switch {
	case r.Plugin != "" && r.Installed():
		d.say("client", problem, "pennypost uninstall "+r.Client.Name,
			"%s has the plugin %s besides, so the agent is told everything twice", name, r.Plugin)
	case r.Plugin != "":
		d.say("client", well, "", "%s has the plugin %s", name, r.Plugin)
	}
	if !r.Installed() {
		if r.Present && r.Scope == install.User && len(d.findings) == before {
			d.say("client", note, again, "%s is here and does not know of Pennypost", r.Client.Title)
		}
		return
	}
	if r.Disabled != "" {
		d.say("client", problem, "$EDITOR "+r.Where, "%s: %s says %s, so no hook runs", name, r.Where, r.Disabled)
	}
	if r.Behind() && len(d.findings) == before {
		d.say("client", problem, again, "%s: entries are missing or of an older version", name)
	}
	if len(d.findings) == before {
		d.say("client", well, "", "%s is configured", name)
	}
}

// entries looks at the programs that the entries of a file start.
func (d *doctor) entries(f *install.FileReport, name, self, again string, binaries map[string]bool) {
	seen, said := map[string]bool{}, map[string]bool{}
	servers := 0
	for _, e := range f.Entries {
		if strings.HasPrefix(e.What, "MCP server ") {
			servers++
		} else if seen[e.What] {
			d.say("client", problem, again, "%s: %s stands twice in %s (line %d), so the agent is told twice", name,
				e.What, f.Path, e.Line)
		}
		seen[e.What] = true
		if said[e.Binary] {
			continue
		}
		said[e.Binary] = true
		switch found, err := exec.LookPath(e.Binary); {
		case err == nil && sameFile(found, self): // a shorter name of this program
		case err != nil:
			d.say("client", problem, again, "%s: %s (line %d) starts %s, which cannot be started", name, f.Path,
				e.Line, e.Binary)
		default:
			d.say("client", note, again, "%s: %s (line %d) starts %s, and not this program", name, f.Path, e.Line,
				e.Binary)
			binaries[e.Binary] = true
		}
	}
	if servers > 1 {
		d.say("client", note, "", "%s: %s has %d servers of Pennypost; each is an agent of its own", name, f.Path,
			servers)
	}
}

func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// probePatience is how long doctor waits for a program.
const probePatience = 10 * time.Second

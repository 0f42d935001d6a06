package setup

import (
	"context"
	"crypto/tls"
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

	"pennypost/internal/base/selfsigned"
	"pennypost/internal/config"
	"pennypost/internal/front/cli"
	"pennypost/internal/front/install"
	"pennypost/internal/mail"
	"pennypost/internal/wire"
	"pennypost/internal/wire/client"
)

const doctorHelp = `Check this program, the data directory, the post office, and the programs that agent clients are
configured to start. Each program that a client starts is tried in a data directory of its own, which is
removed afterwards. Nothing of yours is changed. Each problem is shown with the command that fixes it.

The exit status is 0 if all is well and 1 otherwise.`

func newDoctor(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "doctor", Short: "find problems, and show how to fix them", Long: doctorHelp,
		Example: "pennypost doctor\npennypost doctor --json",
		Args:    cli.NoArgs,
		RunE:    cli.Run(a.doctor),
	}
}

// doctor collects findings.
type doctor struct {
	app      *app
	cfg      config.Config
	findings []cli.Finding
}

func (d *doctor) say(check string, state cli.Verdict, fix, format string, args ...any) {
	d.findings = append(d.findings, cli.Finding{Check: check, State: state, Text: fmt.Sprintf(format, args...),
		Fix: fix})
}

func (a *app) doctor(ctx context.Context) error {
	d := &doctor{app: a}
	self := d.program(ctx)
	if home, ok := d.directory(); ok {
		d.postOffice(ctx, home)
		d.doors(ctx)
	}
	binaries := d.clients(self)
	d.service(ctx)
	for _, binary := range binaries {
		d.probe(ctx, binary)
	}
	sick := slices.ContainsFunc(d.findings, func(f cli.Finding) bool { return f.State == cli.Problem })
	if a.JSON {
		a.Out.Value(struct {
			OK     bool          `json:"ok"`
			Checks []cli.Finding `json:"checks"`
		}{!sick, d.findings})
	} else {
		d.print(sick)
	}
	if sick {
		return cli.Silent(cli.ExitFailed)
	}
	return nil
}

func (d *doctor) print(sick bool) {
	out := d.app.Out
	for _, f := range d.findings {
		mark := string(f.State)
		if f.State == cli.Problem {
			mark = out.Red("WRONG")
		}
		out.Table([][]string{{cli.Pad(mark, 5), cli.Pad(f.Check, 11), cli.OneLine(f.Text)}})
		if f.Fix != "" {
			out.Line("%s%s", strings.Repeat(" ", 20), out.Bold("→ "+cli.OneLine(f.Fix)))
		}
	}
	if !sick {
		out.Line("All is well.")
	}
}

// program checks this program, and returns the path that clients should start.
func (d *doctor) program(ctx context.Context) string {
	self, err := install.Binary()
	if err != nil {
		d.say("program", cli.Problem, "scripts/build", "%s", err.Error())
		return ""
	}
	d.say("program", cli.Well, "", "%s, version %s", self, cli.Version())
	d.officeProgram(ctx)
	found, err := exec.LookPath("pennypost")
	switch {
	case err != nil:
		d.say("path", cli.Note, "pennypost setup",
			"the shell does not find pennypost, so the commands that agents are told to use do not work")
	case !install.Launches(found, self):
		other, _ := versionOf(ctx, found)
		d.say("path", cli.Problem, "which -a pennypost", "the shell finds another program: %s, version %s",
			found, other)
	}
	return self
}

// officeProgram checks that the post office's own program is there, in the same version.
func (d *doctor) officeProgram(ctx context.Context) {
	program, err := d.app.OfficeProgram()
	if err != nil {
		d.say("program", cli.Problem, d.app.NextStep(err), "%s", err.Error())
	} else if v, _ := versionOf(ctx, program); v != cli.Version() {
		d.say("program", cli.Problem, "which -a "+cli.OfficeProgram,
			"%s is version %s, and this program is %s: install both from one "+
				"release", program, v, cli.Version())
	}
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

// littleSpace is the least free space, in bytes, for the data directory: a full disk refuses mail.
const littleSpace = 100 << 20

// directory checks the data directory.
func (d *doctor) directory() (config.Home, bool) {
	home, err := config.FindHome(d.app.Env.Getenv)
	if err != nil {
		d.say("data", cli.Problem, "export PENNYPOST_HOME=~/.local/state/pennypost", "%s", err.Error())
		return "", false
	}
	info, err := os.Stat(string(home))
	switch {
	case os.IsNotExist(err):
		d.say("data", cli.Well, "", "%s does not exist yet; the first command creates it", home)
		return home, true
	case err != nil:
		d.say("data", cli.Problem, "ls -ld "+string(home), "%s", err.Error())
		return home, false
	case !info.IsDir():
		d.say("data", cli.Problem, "mv "+string(home)+" "+string(home)+".old", "%s is not a directory", home)
		return home, false
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0:
		d.say("data", cli.Problem, "chmod 700 "+string(home), "others can read %s (mode %#o)", home,
			info.Mode().Perm())
	default:
		d.say("data", cli.Well, "", "%s", home)
	}
	if info, err := os.Stat(home.Token()); err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		d.say("data", cli.Problem, "chmod 600 "+home.Token(), "others can read the operator's token")
	}
	if err := home.CheckSocket(false); err != nil {
		d.say("socket", cli.Problem, "rm -r "+filepath.Dir(home.Socket()), "%s", err.Error())
	}
	if free, ok := freeSpace(string(home)); ok && free < littleSpace {
		d.say("disk", cli.Problem, "df -h "+string(home), "only %s are free where mail is kept; a full disk refuses "+
			"mail", cli.Size(free))
	}
	cfg, err := config.Load(home, d.app.Env.Getenv)
	if err != nil {
		d.say("config", cli.Problem, "pennypost config check", "%s", err.Error())
	}
	d.cfg = cfg
	return home, true
}

// postOffice checks whether one runs, and has this version. It starts none.
func (d *doctor) postOffice(ctx context.Context, home config.Home) {
	office, err := d.app.QuietOffice()
	if err != nil {
		return // the check of the socket reported it
	}
	defer office.Close()
	ctx, cancel := context.WithTimeout(ctx, probePatience)
	defer cancel()
	st, err := office.Status(ctx)
	switch {
	case mail.CodeOf(err) == mail.Unavailable && d.app.Env.Getenv("PENNYPOST_AUTOSTART") == "0":
		d.say("office", cli.Problem, "pennypost serve",
			"no post office is running, and PENNYPOST_AUTOSTART=0 prevents commands from starting one")
		return
	case mail.CodeOf(err) == mail.Unavailable:
		d.say("office", cli.Well, "", "not running; the first command starts one")
		return
	case err != nil:
		d.say("office", cli.Problem, "pennypost stop", "it does not answer: %s; see its log: %s", err.Error(),
			home.Log())
		return
	case st.Version != cli.Version():
		d.say("office", cli.Problem, "pennypost stop",
			"it runs version %s, and this program is %s; once stopped, the next command starts this one",
			st.Version, cli.Version())
	default:
		d.say("office", cli.Well, "", "running, process %d", st.PID)
	}
	if r := st.Relay; r != nil && r.Trouble != "" {
		d.say("relay", cli.Problem, "pennypost status",
			"this machine's post office is at %s, which cannot be used: %s",
			r.URL, r.Trouble)
	} else if r != nil {
		d.say("relay", cli.Well, "", "this machine's post office is at %s, and reachable; this machine is %s "+
			"there", r.URL,
			r.Machine)
	}
	d.cluster(st.Cluster)
	if st.Outbox != nil {
		d.say("outbox", cli.Problem, "pennypost outbox", "%s", st.Outbox.String())
	}
	if st.Relay == nil {
		d.try(ctx, office)
	}
	for _, f := range st.Failing {
		if channel, about := strings.CutPrefix(f, "notify "); about {
			channel, _, _ = strings.Cut(channel, ":")
			d.say("notify", cli.Problem, "pennypost notify test "+channel, "notifications do not get through: %s",
				strings.TrimPrefix(f, "notify "))
			continue
		}
		d.say("bridge", cli.Problem, "pennypost bridge list", "%s", f)
	}
	for _, address := range st.Listen {
		d.web(ctx, address, st.Fingerprint)
	}
}

// cluster reports problems of the NATS servers, and of the clocks of the machines with rooms there.
func (d *doctor) cluster(c *wire.Cluster) {
	if c == nil {
		return
	}
	if c.Trouble != "" {
		d.say("servers", cli.Problem, "$EDITOR "+d.cfg.Home.File()+"   # urls, below [journal]",
			"rooms on the NATS servers take no mail: %s", c.Trouble)
	}
	for _, g := range c.Health.Degraded {
		d.say("servers", cli.Problem, g.Fix, "%s", g.Text)
	}
	if c.Health.Erasing != nil {
		d.say("servers", cli.Note, "", "%s", strings.TrimSuffix(c.Health.Erasing.String(), "."))
	}
	for _, w := range c.Warnings {
		d.say("servers", cli.Problem, "", "%s", w)
	}
	if c.Trouble == "" && len(c.Warnings)+len(c.Health.Degraded) == 0 {
		d.say("servers", cli.Well, "", "the NATS servers answer, and sync each write; this machine is %s", c.Machine)
	}
}

// try makes the post office write and read a test message, everywhere it keeps mail.
func (d *doctor) try(ctx context.Context, office *client.Office) {
	done, err := office.Try(ctx)
	if err != nil {
		d.say("message", cli.Problem, "pennypost status", "no test message could be written: %s", err.Error())
		return
	}
	for _, t := range done.Trials {
		where, fix := "to a file", "df -h "+string(d.cfg.Home)
		if t.Kind == config.KindJetStream {
			where, fix = "to the NATS servers", "pennypost machines"
		}
		read := ""
		if t.Through != "" {
			read = " over " + t.Through
		}
		if t.Failed != "" {
			d.say("message", cli.Problem, fix, "a test message %s failed: %s", where, t.Failed)
		} else {
			d.say("message", cli.Well, "", "a test message was written %s in %v, and read%s in %v", where,
				microseconds(t.Wrote), read, microseconds(t.Read))
		}
	}
}

func microseconds(n int64) time.Duration {
	return (time.Duration(n) * time.Microsecond).Round(10 * time.Microsecond)
}

// web asks the post office over HTTP whether it is healthy. Over TLS its certificate must have the fingerprint, and
// needs no other signature.
func (d *doctor) web(ctx context.Context, address, fingerprint string) {
	if !strings.HasPrefix(address, "http") {
		return
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(address, "/")+"/healthz", nil)
	if err != nil {
		return
	}
	pinned := &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: &tls.Config{InsecureSkipVerify: true,
		VerifyConnection: func(c tls.ConnectionState) error {
			if got := selfsigned.Fingerprint(c.PeerCertificates[0].Raw); got != fingerprint {
				return fmt.Errorf("a different server answers there, with the certificate %s", got)
			}
			return nil
		}}}
	defer pinned.CloseIdleConnections()
	res, err := (&http.Client{Transport: pinned}).Do(req)
	if err != nil {
		d.say("http", cli.Problem, "pennypost stop", "%s does not answer: %s", address, err.Error())
		return
	}
	res.Body.Close()
	if res.StatusCode != http.StatusOK {
		d.say("http", cli.Problem, "pennypost stop", "%s/healthz answers %s", address, res.Status)
		return
	}
	d.say("http", cli.Well, "", "%s answers", address)
}

// clients checks the clients' configuration, and returns the programs that it starts, this one included.
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
		for _, warning := range r.Warnings { // the client's questions, and other obstacles to mail
			d.say("client", cli.Note, "", "%s: %s", title(&r), warning)
		}
	}
	return slices.Sorted(maps.Keys(binaries))
}

// absent says that the program of a client is missing. An editor may be there without its command.
func absent(c install.Client) string {
	return fmt.Sprintf("There is no %s on the PATH. Is %s installed?", c.Program, c.Title)
}

// title is doctor's name for a client in a scope.
func title(r *install.Report) string { return r.Client.Title + " (" + string(r.Scope) + ")" }

func (d *doctor) client(r *install.Report, self string, binaries map[string]bool) {
	again := "pennypost install " + r.Client.Name
	if r.Scope == install.Project {
		again += " --project"
	}
	name := title(r)
	before := len(d.findings)
	for _, f := range r.Files {
		if f.Err != nil && (r.Present || r.Installed()) {
			d.say("client", cli.Problem, "$EDITOR "+f.Path, "%s: %s", name, f.Err.Error())
		}
		d.entries(&f, name, self, again, binaries)
	}
	d.plugin(r, name)
	switch untouched := len(d.findings) == before; {
	case r.Installed():
		d.installed(r, name, again, before)
	case untouched && r.Present && r.Scope == install.User:
		d.say("client", cli.Note, again, "%s is installed but does not use Pennypost", r.Client.Title)
	}
}

// plugin says whether the client has a plugin of ours, which must not be combined with an installation.
func (d *doctor) plugin(r *install.Report, name string) {
	switch {
	case r.Plugin != "" && r.Installed():
		d.say("client", cli.Problem, "pennypost uninstall "+r.Client.Name,
			"%s also has the plugin %s, so the agent is told everything twice", name, r.Plugin)
	case r.Plugin != "":
		d.say("client", cli.Well, "", "%s has the plugin %s", name, r.Plugin)
	}
}

// installed says whether the installation has an effect; before is the number of findings before this client's.
func (d *doctor) installed(r *install.Report, name, again string, before int) {
	if r.Disabled != "" {
		d.say("client", cli.Problem, "$EDITOR "+r.Where, "%s: %s contains %s, so no hook runs", name, r.Where,
			r.Disabled)
	}
	if n := len(r.Untrusted); n > 0 && r.Disabled == "" {
		d.say("client", cli.Problem, again+" --trust",
			"%s: %d hooks are not trusted (%s), so it does not run them. Start it and "+
				"answer \"Trust all and continue\", or type", name, n, strings.Join(r.Untrusted, ", "))
	}
	if r.Behind() && len(d.findings) == before {
		d.say("client", cli.Problem, again, "%s: entries are missing or outdated", name)
	}
	if len(d.findings) == before {
		d.say("client", cli.Well, "", "%s is configured", name)
	}
	if !r.Command && r.Client.Program != "" {
		d.say("client", cli.Note, "", "%s: %s", name, absent(r.Client))
	}
}

// entries checks the programs that the entries of a file start.
func (d *doctor) entries(f *install.FileReport, name, self, again string, binaries map[string]bool) {
	seen, said := map[string]bool{}, map[string]bool{}
	servers := 0
	for _, e := range f.Entries {
		if strings.HasPrefix(e.What, "MCP server ") {
			servers++
		} else if seen[e.What] {
			d.say("client", cli.Problem, again, "%s: %s occurs twice in %s (line %d), so the agent is told twice",
				name, e.What, f.Path, e.Line)
		}
		seen[e.What] = true
		if said[e.Binary] {
			continue
		}
		said[e.Binary] = true
		switch found, err := exec.LookPath(e.Binary); {
		case err == nil && install.Same(found, self): // a shorter name of this program
		case err != nil:
			d.say("client", cli.Problem, again, "%s: %s (line %d) starts %s, which cannot be started", name, f.Path,
				e.Line, e.Binary)
		default:
			d.say("client", cli.Note, again, "%s: %s (line %d) starts %s, not this program", name, f.Path, e.Line,
				e.Binary)
			binaries[e.Binary] = true
		}
	}
	if servers > 1 {
		d.say("client", cli.Note, "", "%s: %s has %d servers of Pennypost; each is a separate agent", name, f.Path,
			servers)
	}
}

// probePatience is how long doctor waits for a program.
const probePatience = 10 * time.Second

package command

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"pennypost/internal/base/durable"
	"pennypost/internal/base/versions"
	"pennypost/internal/front/cli"
	"pennypost/internal/front/install"
	"pennypost/internal/mail"
	"pennypost/internal/office/update"
)

const updateHelp = `Replace this release with the newest, or with the one that --version names: both programs at once,
even while they run. The signature of the release and the checksum of the archive are checked before
anything is unpacked. The previous version is kept, and --back restores it.

A running post office is restarted in the new version once no call is running that changes
something; agents' sessions continue, and no sent mail is lost. An older release is installed only
if --version names it. A program that dpkg, Homebrew, npm or the go command installed must be
replaced in the same way; the error says how. Nothing checks for releases by itself: only this
command does, when you run it.`

// updateFlags are the flags of update.
type updateFlags struct {
	version, from string
	check, back   bool
}

func newUpdate(a *app) *cobra.Command {
	var f updateFlags
	return cli.WithFlags(&cobra.Command{
		Use: "update", Short: "get a newer release, or the previous one", Long: updateHelp,
		Example: "pennypost update --check\npennypost update\npennypost update --back",
		Args:    cli.NoArgs, RunE: cli.RunWith(a.update, &f),
	}, cli.Flag{Into: &f.version, Name: "version", About: "install release `V`, such as v1.2.3"},
		cli.Flag{Into: &f.from, Name: "from", About: "`ADDRESS` or directory with the files of one release"},
		cli.Flag{Into: &f.check, Name: "check", About: "show the newest release, and change nothing"},
		cli.Flag{Into: &f.back, Name: "back", About: "restore the previous version"})
}

// updated is the result of update in JSON.
type updated struct {
	Version   string `json:"version"`            // the version found, or installed now
	Before    string `json:"before"`             // the version installed before
	Installed bool   `json:"installed"`          // something was changed
	Office    string `json:"office,omitempty"`   // the effect on the post office: "restarted", "not running", "left"
	By        string `json:"by,omitempty"`       // the command that installs it, if another program must
	Problem   string `json:"problem,omitempty"`  // why the post office was not restarted
	Programs  string `json:"programs,omitempty"` // their directory
}

func (a *app) update(ctx context.Context, f updateFlags) error {
	if f.back && (f.check || f.version != "" || f.from != "") {
		return cli.Usage("--back restores the kept version, and cannot be combined with other flags")
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	if real, err := filepath.EvalSymlinks(program); err == nil {
		program = real
	}
	by, command := update.Owner(program, cli.Module(), cli.Released())
	program = versions.Stable(program)
	if f.check {
		return a.checkRelease(ctx, f, command)
	}
	if err := a.mayUpdate(program, by, command); err != nil {
		return err
	}
	if f.back {
		return a.changeVersion(ctx, filepath.Dir(program), func(s *versions.Store) (string, error) { return s.Back() })
	}
	release, err := a.findRelease(ctx, f)
	if err != nil {
		return err
	}
	if release.Version == cli.Version() {
		return a.Said(nil, updated{Version: release.Version, Before: release.Version},
			"This is %s, and there is no newer release.", release.Version)
	}
	return a.changeVersion(ctx, filepath.Dir(program), func(s *versions.Store) (string, error) {
		return release.Version, a.getRelease(ctx, s, release)
	})
}

// mayUpdate refuses if another program manages the installed ones, or if the shell would still find others.
func (a *app) mayUpdate(program, by, command string) error {
	if err := a.OnlyUser("update Pennypost"); err != nil {
		return err
	}
	if by != "" {
		return cli.Hinted(mail.Errorf(mail.Conflict, "%s installed %s, and must replace it. Nothing was changed",
			by, program), command)
	}
	if runtime.GOOS == "windows" {
		return cli.Hinted(mail.Errorf(mail.Invalid, "on Windows the programs cannot be replaced while they run. "+
			"Nothing was changed"), "pennypost stop; then unpack the archive of the release in place of this one")
	}
	front := filepath.Join(filepath.Dir(program), versions.Programs[0])
	if found, err := exec.LookPath(versions.Programs[0]); err == nil && !install.Same(found, front) {
		return cli.Hinted(mail.Errorf(mail.Conflict, "the shell finds another pennypost first, %s, which hides %s. "+
			"Nothing was changed", found, front), found+" update; or, for this one: PATH="+
			filepath.Dir(program)+":$PATH "+front+" update")
	}
	return nil
}

// findRelease looks for the requested release. An older one must be named.
func (a *app) findRelease(ctx context.Context, f updateFlags) (*update.Release, error) {
	key, err := update.Key()
	if err != nil {
		return nil, cli.Hinted(err, "to install a release and compare its checksums: sh install.sh")
	}
	version := f.version
	if version != "" && !strings.HasPrefix(version, "v") {
		version = "v" + version
	}
	from := f.from
	if from == "" {
		if from, err = update.Address(cli.Module(), version); err != nil {
			return nil, cli.Hinted(err, "pennypost update --from ADDRESS")
		}
	}
	source, err := update.NewSource(from)
	if err != nil {
		return nil, err
	}
	release, err := update.Look(ctx, source, key, runtime.GOOS+"_"+runtime.GOARCH)
	if err != nil {
		return nil, err
	}
	return release, older(release.Version, cli.Version(), version)
}

// older rejects a release that is not the named one, or that is older than this one without being named.
func older(found, now, asked string) error {
	if asked != "" && found != asked {
		return mail.Errorf(mail.Conflict, "the release found is %s, not %s. Nothing was changed", found, asked)
	}
	v, err := update.ParseVersion(found)
	if err != nil || asked != "" {
		return err
	}
	w, err := update.ParseVersion(now)
	if err == nil && v.Compare(w) < 0 {
		return cli.Hinted(mail.Errorf(mail.Conflict, "the newest release is %s, which is older than this one, %s. "+
			"Nothing was changed", found, now), "pennypost update --version "+found)
	}
	return nil
}

func (a *app) checkRelease(ctx context.Context, f updateFlags, command string) error {
	release, err := a.findRelease(ctx, f)
	if err != nil {
		return err
	}
	out := updated{Version: release.Version, Before: cli.Version(), By: cmp.Or(command, "pennypost update")}
	if release.Version == cli.Version() {
		out.By = ""
		return a.Said(nil, out, "This is %s, and there is no newer release.", release.Version)
	}
	return a.Said(nil, out, "%s is available; this is %s. To install it: %s", release.Version, cli.Version(),
		out.By)
}

// getRelease downloads a release, checks that it runs here, and installs it.
func (a *app) getRelease(ctx context.Context, s *versions.Store, release *update.Release) error {
	progress := a.Progress("downloading "+release.Version, cli.CountBytes)
	unpacked, err := release.Fetch(ctx, s.Part(), progress)
	progress.End()
	if err != nil {
		return err
	}
	for _, program := range versions.Programs {
		out, err := exec.CommandContext(ctx, filepath.Join(unpacked, program), "--version").CombinedOutput()
		if err != nil || !strings.Contains(string(out), " "+release.Version+" ") {
			return mail.Errorf(mail.Internal, "%s of %s does not run here: %s (%v). Nothing was changed", program,
				release.Version, strings.TrimSpace(string(out)), err)
		}
	}
	return s.Put(cli.Version(), release.Version, unpacked)
}

// changeVersion installs another version, and restarts the post office in it. If that does not start, it restores the
// version before.
func (a *app) changeVersion(ctx context.Context, dir string,
	change func(*versions.Store) (string, error)) (err error) {
	s, err := versions.Open(dir)
	if locked, ok := errors.AsType[*durable.LockedError](err); ok {
		return &mail.Error{Code: mail.Conflict, Msg: "another update is running: " + locked.Error(), Err: err}
	}
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) {
		return cli.Hinted(mail.Errorf(mail.Denied, "cannot write to %s: %w. Nothing was changed", dir, err),
			"to install Pennypost for you alone, without root: sh install.sh")
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	version, err := change(s)
	if errors.Is(err, versions.ErrNone) {
		return cli.Hinted(mail.Errorf(mail.NotFound, "%w. Nothing was changed", err), "pennypost update --version V")
	}
	if err != nil {
		return err
	}
	out := updated{Version: version, Before: cli.Version(), Installed: true, Programs: dir}
	if err := a.restart(ctx, &out); err != nil {
		if _, back := s.Back(); back != nil {
			return errors.Join(err, back)
		}
		a.Office = nil
		return cli.Hinted(&mail.Error{Code: mail.Internal, Err: err, Msg: "the post office did not start in " +
			version + ", so " + cli.Version() + " was restored: " + err.Error()}, "pennypost status")
	}
	said := map[string]string{
		"restarted":   "The post office runs this version.",
		"not running": "No post office was running.",
		"left":        "The post office still runs " + cli.Version() + ": " + out.Problem,
	}[out.Office]
	return a.Said(nil, out, "Installed %s in %s; to restore %s: pennypost update --back\n%s", version,
		dir, out.Before, said)
}

package cli

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"pennypost/internal/base/versions"
	"pennypost/internal/config"
	"pennypost/internal/mail"
)

// OfficeProgram is the program with the post office and all commands.
const OfficeProgram = "pennypostd"

// frontVariable tells the post office's program the version of the front that runs it.
const frontVariable = "PENNYPOST_FRONT_VERSION"

// ProgramName is the word to type for this program: its name if the shell finds it, else its path.
func ProgramName() string {
	if _, err := exec.LookPath("pennypost"); err == nil {
		return "pennypost"
	}
	self, err := os.Executable()
	if err != nil {
		return "pennypost"
	}
	return versions.Stable(self)
}

// OfficeProgram returns the path of the program with the post office: this one, or else the one installed in the same
// directory, or else the one that the shell finds.
func (a *App) OfficeProgram() (string, error) {
	self, err := os.Executable()
	if err != nil || len(a.linked) > 0 {
		return self, err
	}
	path, beside, ok := versions.Find(OfficeProgram)
	if !ok {
		return "", Hinted(mail.Errorf(mail.Unavailable,
			"%s, the program of the post office, is neither beside %s nor on the PATH", filepath.Base(beside), self),
			"install both programs; to build it from source: go build -o "+beside+" .")
	}
	return path, nil
}

// here returns the command of a verb that this program contains, or nil.
func (a *App) here(v Verb) *cobra.Command {
	if i := slices.IndexFunc(a.linked, func(l Verb) bool { return l.Name == v.Name }); i >= 0 {
		v.New = a.linked[i].New
	}
	if v.New != nil {
		return v.New(a)
	}
	for _, group := range a.front {
		if cmd := group(a, v.Name); cmd != nil {
			return cmd
		}
	}
	return nil
}

// command returns the command of a verb. In the front alone, the command of a post office's verb runs the other
// program.
func (a *App) command(v Verb) *cobra.Command {
	if cmd := a.here(v); cmd != nil {
		cmd.Hidden = v.group == ""
		return cmd
	}
	cmd := &cobra.Command{
		Use: v.Name, Short: v.Short, Hidden: v.group == "", DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.runOffice(cmd.Context(), a.args) },
		ValidArgsFunction: func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
			if a.runOffice(cmd.Context(), a.args) != nil {
				return nil, cobra.ShellCompDirectiveError
			}
			return nil, cobra.ShellCompDirectiveDefault
		},
	}
	cmd.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		if err := a.runOffice(cmd.Context(), []string{v.Name, "--help"}); err != nil {
			a.Out.Line("%s - %s", cmd.CommandPath(), v.Short)
		}
	})
	return cmd
}

// runOffice replaces this process with the post office's program, with other arguments. It returns only if that
// fails, or after the program has ended.
func (a *App) runOffice(ctx context.Context, args []string) error {
	program, err := a.OfficeProgram()
	if err != nil {
		return err
	}
	// First, because of two variables with one name the first counts.
	return Become(ctx, program, args, slices.Concat([]string{frontVariable + "=" + Version()}, a.Env.Environ))
}

// meetFront warns if the front that ran this program has another version.
func (a *App) meetFront() {
	if v := a.Env.Getenv(frontVariable); len(a.linked) > 0 && v != "" && v != Version() {
		fmt.Fprintf(a.Env.Stderr,
			"pennypost: %s is version %s and pennypost is %s\nhint: install both from one release\n",
			OfficeProgram, Version(), v)
	}
}

// meetOffice warns if the post office that answered has another version; "" if none answered.
func (a *App) meetOffice(version string) {
	if version == "" || version == Version() || slices.Contains([]string{"status", "doctor", "stop"}, a.Asked) {
		return // they report it themselves
	}
	fmt.Fprintf(a.Env.Stderr, "pennypost: the post office runs version %s, and this program is %s\n"+
		"hint: pennypost stop; the next command then starts the installed version\n", Visible(version),
		Version())
}

// Absolute returns the absolute path of dir, with links resolved, so that one directory is one bridge.
func (a *App) Absolute(dir string) string {
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(a.Env.Dir, dir)
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real
	}
	return filepath.Clean(dir)
}

// LoadConfig reads the configuration of the data directory.
func (a *App) LoadConfig() (config.Config, error) {
	home, err := config.FindHome(a.Env.Getenv)
	if err != nil {
		return config.Config{}, err
	}
	return config.Load(home, a.Env.Getenv)
}

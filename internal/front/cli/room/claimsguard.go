package room

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pennypost/internal/base/durable"
	"pennypost/internal/front/cli"
	"pennypost/internal/mail"
)

// guardHook is the pre-commit hook. Without Pennypost it lets commits pass.
const guardHook = `#!/bin/sh
# Stops commits of what another agent holds. Installed by: pennypost claims guard
# and taken out by: pennypost claims guard --remove
command -v pennypost >/dev/null 2>&1 || exit 0
exec pennypost claims check --staged
`

func newClaimsGuard(a *app) *cobra.Command {
	remove := false
	return cli.WithFlags(&cobra.Command{
		Use: "guard", Short: "make git refuse commits of claimed files",
		Long: "Install a pre-commit hook in this repository, in its hooks directory (core.hooksPath applies). It " +
			"stops\n" +
			"a commit with a path that another agent has claimed. An existing pre-commit hook is not changed:\n" +
			"add one line to it. If the post office is away, commits continue; git commit --no-verify skips the " +
			"hook.",
		Example: "pennypost claims guard\npennypost claims guard --remove",
		Args:    cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			out, err := a.git(cmd.Context(), "rev-parse", "--git-path", "hooks")
			if err != nil {
				return err
			}
			path := filepath.Join(strings.TrimSuffix(string(out), "\n"), "pre-commit")
			if !filepath.IsAbs(path) {
				path = filepath.Join(a.Env.Dir, path)
			}
			if remove {
				return a.removeGuard(path)
			}
			return a.installGuard(path)
		},
	},
		cli.Flag{Into: &remove, Name: "remove", About: "remove the hook"})
}

func (a *app) installGuard(path string) error {
	text, err := hookAt(path)
	switch {
	case err != nil:
		return err
	case text == guardHook:
		a.Out.Line("The guard is already installed: %s", cli.OneLine(path))
		return nil
	case text != "":
		return cli.Hinted(mail.Errorf(mail.Conflict, "%s already exists and was not changed", path),
			"add this line to it: pennypost claims check --staged || exit 1")
	}
	if err := durable.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := durable.WriteFile(path, []byte(guardHook), 0o755); err != nil {
		return err
	}
	a.Out.Line("Commits of files that another agent has claimed are stopped by %s", cli.OneLine(path))
	return nil
}

func (a *app) removeGuard(path string) error {
	text, err := hookAt(path)
	switch {
	case err != nil:
		return err
	case text == "":
		a.Out.Line("There is no pre-commit hook: %s", cli.OneLine(path))
		return nil
	case text != guardHook:
		return cli.Hinted(mail.Errorf(mail.Conflict, "%s is not as pennypost claims guard wrote it, and was not "+
			"changed", path), "remove the line with pennypost from it yourself")
	}
	if err := os.Remove(path); err != nil {
		return err
	}
	a.Out.Line("Removed the guard: %s", cli.OneLine(path))
	return nil
}

// hookAt returns the text of a hook, "" if there is none. A broken link counts as a hook.
func hookAt(path string) (string, error) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil:
		return "", err
	case !info.Mode().IsRegular() || info.Size() != int64(len(guardHook)):
		return "another", nil
	}
	text, err := durable.ReadFile(path)
	return string(text), err
}

func newClaimsCheck(a *app) *cobra.Command {
	staged := false
	return cli.WithFlags(&cobra.Command{
		Use: "check --staged", Short: "check whether staged files are claimed by another agent", Hidden: true,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !staged {
				return mail.Errorf(mail.Invalid, "say what to check: --staged")
			}
			return a.checkStaged(cmd.Context())
		},
	},
		cli.Flag{Into: &staged, Name: "staged", About: "the files staged in git"})
}

// guardPatience is how long a commit waits for the post office.
const guardPatience = 10 * time.Second

// checkStaged refuses staged paths that others hold. A commit passes if the post office cannot be asked.
func (a *app) checkStaged(ctx context.Context) error {
	top, err := a.git(ctx, "rev-parse", "--show-toplevel")
	if err != nil {
		return err
	}
	dir := strings.TrimSuffix(string(top), "\n")
	out, err := a.git(ctx, "diff", "--cached", "--name-only", "--no-renames", "-z")
	if err != nil || len(out) == 0 {
		return err
	}
	var paths []string
	for path := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		paths = append(paths, filepath.Join(dir, filepath.FromSlash(path)))
	}
	ctx, cancel := context.WithTimeout(ctx, guardPatience)
	defer cancel()
	svc, err := a.Service(ctx)
	if err == nil {
		var clashes []mail.Clash
		if clashes, err = held(ctx, svc, dir, paths); len(clashes) > 0 {
			return notCommitted(clashes)
		}
	}
	if err != nil {
		fmt.Fprintf(a.Env.Stderr, "pennypost: cannot check who holds the committed files: %s\n",
			cli.Visible(err.Error()))
	}
	return nil
}

// held returns others' claims on paths. A path that cannot be claimed, such as a link that leads out of the tree, has
// no holder.
func held(ctx context.Context, svc mail.Service, dir string, paths []string) (clashes []mail.Clash, err error) {
	for len(paths) > 0 {
		n := min(len(paths), mail.MaxTargets)
		got, err := svc.Claim(ctx, mail.ClaimRequest{Words: paths[:n], Dir: dir, Look: true})
		switch {
		case err == nil:
			clashes = append(clashes, got.Clashes...)
		case mail.CodeOf(err) != mail.Invalid:
			return clashes, err
		case n > 1: // one of them cannot; try each by itself
			for i := range n {
				one, err := held(ctx, svc, dir, paths[i:i+1])
				if clashes = append(clashes, one...); err != nil {
					return clashes, err
				}
			}
		}
		paths = paths[n:]
	}
	return clashes, nil
}

// maxNotCommitted limits the paths named to a person.
const maxNotCommitted = 10

func notCommitted(clashes []mail.Clash) error {
	var b strings.Builder
	for _, c := range clashes[:min(len(clashes), maxNotCommitted)] {
		b.WriteString(clashLine(c) + "; ")
	}
	if more := len(clashes) - maxNotCommitted; more > 0 {
		fmt.Fprintf(&b, "and %d more; ", more)
	}
	return cli.Hinted(mail.Errorf(mail.Conflict, "%s. Nothing was committed", strings.TrimSuffix(b.String(), "; ")),
		"unstage it with git restore --staged, or ask "+string(clashes[0].Held.Agent)+
			"; git commit --no-verify passes this check")
}

// git runs git in the command's directory and environment, which in a hook names the index.
func (a *app) git(ctx context.Context, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir, cmd.Env = a.Env.Dir, a.Env.Environ
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		why := cli.OneLine(strings.TrimSpace(said.String()))
		return nil, mail.Errorf(mail.Invalid, "git %s: %v %s", args[0], err, why)
	}
	return out, nil
}

package command

import (
	"context"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"pennypost/internal/base/durable"
	"pennypost/internal/base/pause"
	"pennypost/internal/front/cli"
	"pennypost/internal/mail"
)

// quietPatience is how long a restart waits until no call is writing. A send takes milliseconds; a backup, or moving a
// room, takes longer.
const quietPatience = 30 * time.Second

// restart restarts a running post office in the version that is installed now. Running calls finish first; later ones
// wait for the new process.
func (a *app) restart(ctx context.Context, out *updated) error {
	pid, err := a.quiet(ctx)
	switch {
	case mail.CodeOf(err) == mail.Unavailable:
		out.Office = "not running"
		return nil
	case err != nil:
		out.left(err.Error(), "pennypost stop")
		return nil
	case a.Env.Getenv("PENNYPOST_AUTOSTART") == "0":
		out.left("PENNYPOST_AUTOSTART=0 forbids a start", "restart it yourself")
		return nil
	}
	if unit := systemdUnit(pid); unit != "" {
		said, err := exec.CommandContext(ctx, "systemctl", "--user", "restart", unit).CombinedOutput()
		if err != nil {
			out.left(strings.TrimSpace(string(said)), "systemctl --user restart "+unit)
			return nil
		}
	} else if _, _, err := a.StopOffice(ctx); err != nil {
		out.left(err.Error(), "pennypost stop")
		return nil
	}
	out.Office = "restarted"
	return a.started(ctx, out.Version)
}

// left records why the post office still runs in the version before, and how to restart it.
func (u *updated) left(why, restart string) {
	u.Office, u.Problem = "left", why+". To restart it: "+restart
}

// quiet waits until the post office is doing nothing that must not be interrupted, and returns its process.
func (a *app) quiet(ctx context.Context) (pid int, err error) {
	_, office, err := a.RunningOffice()
	if err != nil {
		return 0, err
	}
	defer func() {
		office.Close()
		a.Office = nil
	}()
	for end := time.Now().Add(quietPatience); ; {
		st, err := office.Status(ctx)
		switch {
		case err != nil:
			return 0, err
		case st.Busy == 0:
			return st.PID, nil
		case time.Now().After(end):
			return 0, mail.Errorf(mail.Timeout, "%d calls are still running", st.Busy)
		}
		if !pause.For(ctx, 20*time.Millisecond) {
			return 0, ctx.Err()
		}
	}
}

// started starts the post office, unless it was already started, and checks its version.
func (a *app) started(ctx context.Context, version string) error {
	for end := time.Now().Add(cli.StartPatience); ; {
		office, err := a.Post()
		if err != nil {
			return err
		}
		st, err := office.Status(ctx)
		office.Close()
		a.Office = nil
		if err == nil && st.Version != version {
			err = mail.Errorf(mail.Conflict, "it runs version %s", st.Version)
		}
		if err == nil || time.Now().After(end) || !pause.For(ctx, 50*time.Millisecond) {
			return err
		}
	}
}

// systemdUnit returns the systemd unit of a process, if it is the one of pennypost service.
func systemdUnit(pid int) string {
	text, err := durable.ReadFile("/proc/" + strconv.Itoa(pid) + "/cgroup")
	if err != nil {
		return ""
	}
	return unitOf(string(text))
}

func unitOf(cgroup string) string {
	const unit = "pennypost.service"
	for line := range strings.Lines(cgroup) {
		if strings.HasSuffix(strings.TrimSpace(line), "/"+unit) {
			return unit
		}
	}
	return ""
}

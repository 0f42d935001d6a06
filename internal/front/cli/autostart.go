package cli

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"strings"
	"time"

	"pennypost/internal/base/child"
	"pennypost/internal/base/durable"
	"pennypost/internal/base/pause"
	"pennypost/internal/base/versions"
	"pennypost/internal/config"
	"pennypost/internal/mail"
	"pennypost/internal/wire/client"
)

// StartPatience is how long a command waits for a post office that it, or another command, starts.
const StartPatience = 5 * time.Second

// StartPoll is how often it looks. The kernel answers a dial of a Unix socket in microseconds.
const StartPoll = 2 * time.Millisecond

// autostart makes sure that a post office runs. Among any number of commands that find none at the same time, the one
// that holds the start lock starts it and the others wait; if two still start one, the post office's own lock lets
// only one live.
func (a *App) autostart(ctx context.Context, home config.Home) error {
	if a.Env.Getenv("PENNYPOST_AUTOSTART") == "0" {
		err := mail.Errorf(mail.Unavailable,
			"no post office is running at %s, and PENNYPOST_AUTOSTART=0 prevents starting one", home)
		return Hinted(err, "pennypost serve")
	}
	if err := home.Create(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, StartPatience)
	defer cancel()
	s := starter{app: a, home: home, log: logSize(home)}
	defer s.unlock()
	for !Listens(home) {
		if err := s.try(); err != nil {
			return s.failed(err)
		}
		select {
		case err := <-s.exited:
			if err != nil {
				return s.failed(err)
			}
			s.exited = nil // another post office was first: keep looking for it
		case <-ctx.Done():
			return s.failed(ctx.Err())
		case <-time.After(StartPoll):
		}
	}
	return nil
}

// starter is one command's attempt to start a post office.
type starter struct {
	app    *App
	home   config.Home
	lock   *durable.Lock // the start lock, once acquired
	log    int64         // length of the log before
	exited <-chan error  // of the started process; nil: none
}

// try starts a post office, unless one was started or another command is starting one.
func (s *starter) try() error {
	if s.exited != nil {
		return nil
	}
	if s.lock == nil {
		lock, err := durable.TryLock(s.home.StartLock())
		if isLocked(err) {
			return nil
		}
		if err != nil {
			return err
		}
		s.lock = lock
		if Listens(s.home) { // the previous holder of the lock started it
			return nil
		}
	}
	exited, err := s.app.launch(s.home)
	s.exited = exited
	return err
}

func (s *starter) unlock() {
	if s.lock != nil {
		_ = s.lock.Unlock() // the system does so too when this command ends
	}
}

func isLocked(err error) bool {
	_, ok := errors.AsType[*durable.LockedError](err)
	return ok
}

// failed explains why there is no post office, with the last lines of its log.
func (s *starter) failed(cause error) error {
	if _, ok := errors.AsType[*Hint](cause); ok {
		return cause // it already says what to do
	}
	msg := "cannot start the post office (" + cause.Error() + "); "
	if said := lastWords(s.home, s.log); said != "" {
		msg += "the end of its log, " + s.home.Log() + ":\n" + said
	} else {
		msg += "see its log: " + s.home.Log()
	}
	return Hinted(&mail.Error{Code: mail.Unavailable, Msg: msg, Err: cause}, "pennypost serve")
}

// logSize is the length of the post office's log, in bytes.
func logSize(home config.Home) int64 {
	info, err := os.Stat(home.Log())
	if err != nil {
		return 0
	}
	return info.Size()
}

const (
	lastLines = 3       // of the log to quote
	lastBytes = 4 << 10 // to search for them
)

// lastWords returns the last lines of the log after an offset.
func lastWords(home config.Home, from int64) string {
	file, err := durable.Open(home.Log())
	if err != nil {
		return ""
	}
	defer file.Close()
	from = max(from, logSize(home)-lastBytes)
	text, err := io.ReadAll(io.NewSectionReader(file, from, lastBytes))
	if err != nil {
		return ""
	}
	lines := strings.FieldsFunc(string(text), func(r rune) bool { return r == '\n' })
	return strings.Join(lines[max(0, len(lines)-lastLines):], "\n")
}

// Listens reports whether a process accepts connections on the socket of home.
func Listens(home config.Home) bool {
	conn, err := net.Dial("unix", home.Socket())
	if err != nil {
		return false
	}
	conn.Close()
	return true
}

// launch starts a post office that outlives this command and its terminal. The channel receives its exit error.
func (a *App) launch(home config.Home) (<-chan error, error) {
	program, err := a.OfficeProgram()
	if err != nil {
		return nil, err
	}
	log, err := durable.OpenFile(home.Log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	verb := "serve"
	if home.HasRemote() {
		verb = "relay"
	}
	// A process that continues after an update starts the newly installed version.
	cmd := exec.Command(versions.Stable(program), verb, "--auto")
	cmd.Dir = "/" // so that it blocks no directory from being unmounted or removed
	cmd.Env = append(config.WithoutAgent(a.Env.Environ), "PENNYPOST_HOME="+string(home))
	cmd.Stdout, cmd.Stderr = log, log
	child.Detach(cmd)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	exited := make(chan error, 1)
	go func() { exited <- cmd.Wait() }() // ends with the post office or with this command
	return exited, nil
}

// QuietOffice returns the running post office, without starting one. The caller closes it.
func (a *App) QuietOffice() (*client.Office, error) {
	if a.Remote != "" {
		return a.remote()
	}
	return a.local(false, client.Options{Token: a.ownToken()})
}

// RunningOffice makes the command use a post office only if one runs.
func (a *App) RunningOffice() (config.Home, *client.Office, error) {
	home, err := config.FindHome(a.Env.Getenv)
	if err != nil {
		return "", nil, err
	}
	a.Office, err = a.QuietOffice()
	return home, a.Office, err
}

// StopOffice stops the post office that runs at home and waits until it has ended. ran is false if there was none.
func (a *App) StopOffice(ctx context.Context) (home config.Home, ran bool, err error) {
	home, office, err := a.RunningOffice()
	if err != nil {
		return home, false, err
	}
	ctx, cancel := context.WithTimeout(ctx, StopWait)
	defer cancel()
	err = office.Stop(ctx)
	office.Close()
	a.Office = nil
	ran = mail.CodeOf(err) != mail.Unavailable || Listens(home) // or it is shutting down
	if err != nil && ran {
		return home, ran, err
	}
	return home, ran, AwaitEnd(ctx, home)
}

// AwaitEnd waits until no post office holds the lock of home, which a post office releases last.
func AwaitEnd(ctx context.Context, home config.Home) error {
	if _, err := os.Stat(string(home)); errors.Is(err, fs.ErrNotExist) {
		return nil // and asking creates nothing
	}
	return AwaitUnlocked(ctx, home.Lock(), "the post office")
}

// AwaitUnlocked waits until no process holds a lock file. who names the holder for the person.
func AwaitUnlocked(ctx context.Context, path, who string) error {
	for {
		lock, err := durable.TryLock(path)
		if err == nil {
			return lock.Unlock()
		}
		if !isLocked(err) {
			return err
		}
		if !pause.For(ctx, 10*time.Millisecond) {
			return mail.Errorf(mail.Timeout, "%s has not ended after %s: %w", who, StopWait, err)
		}
	}
}

// StopWait is how long stop waits: the time that the post office allows its calls, and its disk.
const StopWait = 15 * time.Second

package cli

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"time"

	"pennypost/internal/base/durable"
	"pennypost/internal/config"
	"pennypost/internal/mail"
	"pennypost/internal/office/daemon"
)

// startPatience is how long a command waits for a post office that it, or another command, starts.
const startPatience = 5 * time.Second

// startPoll is how often it looks. The kernel answers a dial of a Unix socket in microseconds.
const startPoll = 2 * time.Millisecond

// autostart makes sure that a post office runs. Of any number of commands that find none at the same time, the one
// that holds the start lock starts it and the others wait; should two get to start one all the same, the post office's
// own lock lets one live.
func (a *app) autostart(ctx context.Context, home config.Home) error {
	if a.env.Getenv("PENNYPOST_AUTOSTART") == "0" {
		err := mail.Errorf(mail.Unavailable,
			"no post office runs at %s, and PENNYPOST_AUTOSTART=0 forbids to start one", home)
		return hinted(err, "pennypost serve")
	}
	if err := home.Create(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	s := starter{app: a, home: home}
	defer s.unlock()
	for !listens(home) {
		if err := s.try(); err != nil {
			return notStarted(home, err)
		}
		select {
		case err := <-s.exited:
			if err != nil {
				return notStarted(home, err)
			}
			s.exited = nil // another post office was there first: go on looking for it
		case <-ctx.Done():
			return notStarted(home, ctx.Err())
		case <-time.After(startPoll):
		}
	}
	return nil
}

// starter is one command's attempt to start a post office.
type starter struct {
	app    *app
	home   config.Home
	lock   *durable.Lock // the start lock, once it is ours
	exited <-chan error  // of the process that was started; nil: none
}

// try starts a post office, unless one was started or another command is at it.
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
		if listens(s.home) { // who held the lock before was quick
			return nil
		}
	}
	exited, err := s.app.launch(s.home)
	s.exited = exited
	return err
}

func (s *starter) unlock() {
	if s.lock != nil {
		_ = s.lock.Unlock() // the system does it too when this command ends
	}
}

func isLocked(err error) bool {
	_, ok := errors.AsType[*durable.LockedError](err)
	return ok
}

func notStarted(home config.Home, cause error) error {
	err := &mail.Error{Code: mail.Unavailable, Msg: "the post office could not be started (" + cause.Error() + "); " +
		home.Log() + " says why", Err: cause}
	return hinted(err, "pennypost serve")
}

// listens reports whether somebody accepts connections on the socket of home.
func listens(home config.Home) bool {
	conn, err := net.Dial("unix", home.Socket())
	if err != nil {
		return false
	}
	conn.Close()
	return true
}

// launch starts a post office that outlives this command and its terminal. The channel tells when it ended.
func (a *app) launch(home config.Home) (<-chan error, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	log, err := os.OpenFile(home.Log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.Command(self, "serve", "--auto")
	cmd.Dir = "/" // so that no directory is kept from being unmounted or removed
	cmd.Env = append(daemon.WithoutAgent(a.env.Environ), "PENNYPOST_HOME="+string(home))
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = detached()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	exited := make(chan error, 1)
	go func() { exited <- cmd.Wait() }() // ends with the post office or with this command
	return exited, nil
}

package natstest

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"time"

	"pennypost/internal/clocktest"
)

// Clocked returns the path of a server program whose clock SetClock can set. It is built once for each Version, from
// the same module as the normal one.
func Clocked() (string, error) {
	if os.Getenv("NATS_SERVER") != "" {
		return "", errors.New("the program that $NATS_SERVER names was built with the clock of the system")
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	bin := filepath.Join(cache, "pennypost-test", "bin")
	program := filepath.Join(bin, "nats-server-"+Version+"-clock")
	if _, err := os.Stat(program); err == nil {
		return program, nil
	}
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp(bin, "clock")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	if err := clocktest.Install(dir, "github.com/nats-io/nats-server/v2@"+Version); err != nil {
		return "", err
	}
	return program, os.Rename(filepath.Join(dir, "nats-server"), program)
}

func (s *Server) clock() string { return s.Dir + ".clock" }

// SetClock shifts the clock of a server with Options.Clocks by off, in whole seconds, even across restarts. A running
// server follows some milliseconds later.
func (s *Server) SetClock(off time.Duration) error { return clocktest.Set(s.clock(), off) }

// Now returns the server's time.
func (s *Server) Now() (time.Time, error) {
	text, err := s.Get("/varz")
	if err != nil {
		return time.Time{}, err
	}
	var varz struct {
		Now time.Time `json:"now"`
	}
	err = json.Unmarshal(text, &varz)
	return varz.Now, err
}

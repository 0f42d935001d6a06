package natstest

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"time"

	"pennypost/internal/clocktest"
)

// Clocked returns the path of a server's program whose clock SetClock sets. It is built once for each Version, from
// the same module as the other.
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

// SetClock puts the clock of a server with Options.Clocks off by so much, in whole seconds, also over restarts. A
// server that runs has that time some milliseconds later.
func (s *Server) SetClock(off time.Duration) error { return clocktest.Set(s.clock(), off) }

// Now returns what time it is for the server.
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

package acceptance

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"pennypost/internal/clocktest"
)

// clocked builds the program with a settable clock, once, and returns the program and its runner in the person's
// terminal. That compiles every package that depends on package time, which the build cache then has.
var clocked = sync.OnceValues(func() (programs [2]string, err error) {
	dir := filepath.Join(tools, "clock")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return programs, err
	}
	programs[0] = filepath.Join(dir, "pennypostd")
	if err := clocktest.Build(dir, programs[0], "../.."); err != nil {
		return programs, err
	}
	programs[1], err = seat.Program(programs[0])
	return programs, err
})

// clockOffice is a post office whose clock the test sets.
type clockOffice struct {
	*office
	file string
	by   time.Duration
}

func newClockOffice(t *testing.T) *clockOffice {
	t.Helper()
	programs, err := clocked()
	if errors.Is(err, clocktest.ErrUnknown) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	o := plannedOffice(t, programs[0], programs[1])
	c := &clockOffice{office: o, file: filepath.Join(o.root, "clock")}
	o.env = append(o.env, clocktest.Variable+"="+c.file)
	if err := clocktest.Set(c.file, 0); err != nil {
		t.Fatal(err)
	}
	o.serve(t)
	return c
}

// advance lets time pass.
func (c *clockOffice) advance(t *testing.T, by time.Duration) {
	t.Helper()
	c.by += by
	if err := clocktest.Set(c.file, c.by); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the clock has jumped", func() bool {
		at, err := http.ParseTime(c.request(t, "", http.MethodGet, "/healthz", "").header.Get("Date"))
		return err == nil && at.Sub(c.now()).Abs() < time.Minute
	})
}

// now is the post office's time.
func (c *clockOffice) now() time.Time { return time.Now().Add(c.by) }

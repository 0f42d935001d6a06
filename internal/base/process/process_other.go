//go:build !linux && !darwin

package process

import (
	"os"
	"strconv"
	"time"
)

// one is a process known only by its number.
type one struct {
	pid, parent  int
	session, tty int
	comm         string
}

func look(pid int) one { return one{pid: pid} }

// Tells says whether this system reveals a process's ancestors.
const Tells = false

func (p one) name(string) string {
	host, _ := os.Hostname()
	return strconv.Itoa(p.pid) + "@" + host
}

func (p one) exe() string { return "" }

func (p one) args() []string { return nil }

func (p one) owner() int { return -1 }

// Boot returns an id of this boot of the machine, "" if there is none.
func Boot() string { return "" }

// Environ returns nothing: not supported on this system.
func Environ(int) []string { return nil }

// Terminal returns false: not supported on this system.
func Terminal(string, int) bool { return false }

// LastInput returns zero: not supported on this system.
func LastInput(string) time.Time { return time.Time{} }

// Session names the program that started this one, which in a terminal is its shell.
func Session() string { return look(parent()).key() }

// SetterDir returns "": not supported on this system.
func SetterDir(string) string { return "" }

// Apart returns false: not supported on this system.
func Apart(int) bool { return false }

// Alive returns false: a number may belong to another program now, and this system does not support telling them
// apart.
func Alive(string) bool { return false }

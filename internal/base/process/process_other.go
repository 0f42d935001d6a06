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

// Tells says whether this system tells where a process comes from.
const Tells = false

func (p one) name(string) string {
	host, _ := os.Hostname()
	return strconv.Itoa(p.pid) + "@" + host
}

func (p one) exe() string { return "" }

func (p one) args() []string { return nil }

func (p one) owner() int { return -1 }

// Boot names this boot of the machine, "" where the system does not.
func Boot() string { return "" }

// Environ returns nothing: this system does not tell.
func Environ(int) []string { return nil }

// Terminal returns false: this system does not tell.
func Terminal(string, int) bool { return false }

// LastInput returns zero: this system does not tell.
func LastInput(string) time.Time { return time.Time{} }

// Session names the program that started this one, which in a terminal is its shell.
func Session() string { return look(parent()).key() }

// SetterDir returns "": this system does not tell.
func SetterDir(string) string { return "" }

// Apart returns false: this system does not tell.
func Apart(int) bool { return false }

// Alive returns false: this system does not tell whether a number belongs to another program now.
func Alive(string) bool { return false }

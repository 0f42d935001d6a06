//go:build !linux && !darwin

package process

import (
	"os"
	"strconv"
	"time"
)

// one is a process of which nothing is known but its number.
type one struct {
	pid, parent  int
	session, tty int
	comm         string
}

func look(pid int) one { return one{pid: pid} }

// Tells says that this system tells where a process comes from. Here it does not.
const Tells = false

func (p one) name(string) string {
	host, _ := os.Hostname()
	return strconv.Itoa(p.pid) + "@" + host
}

func (p one) exe() string { return "" }

func (p one) args() []string { return nil }

func (p one) owner() int { return -1 }

// Boot names this start of the machine, "" where nothing does.
func Boot() string { return "" }

// Environ returns nothing: here nobody can tell.
func Environ(int) []string { return nil }

// Terminal reports nothing: here nobody can tell.
func Terminal(string, int) bool { return false }

// LastInput returns nothing: here nobody can tell.
func LastInput(string) time.Time { return time.Time{} }

// Session names the program that started this one, which in a terminal is its shell.
func Session() string { return look(parent()).key() }

// SetterDir returns nothing: here nobody can tell.
func SetterDir(string) string { return "" }

// Apart reports nothing: here nobody can tell.
func Apart(int) bool { return false }

// Alive reports whether a program runs. Here nobody can tell: a number may have gone to another.
func Alive(string) bool { return false }

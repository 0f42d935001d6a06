//go:build !linux

package process

import (
	"os"
	"strconv"
)

// one is a process of which nothing is known but its number.
type one struct {
	pid, parent int
	comm        string
}

func parent() int { return os.Getppid() }

func look(pid int) one { return one{pid: pid} }

func (p one) key() string {
	host, _ := os.Hostname()
	return strconv.Itoa(p.pid) + "@" + host
}

// Session names the program that started this one, which in a terminal is its shell.
func Session() string { return look(parent()).key() }

// SetterDir returns nothing: here nobody can tell.
func SetterDir(string) string { return "" }

// Above returns nothing: here nobody can tell.
func Above(int) []string { return nil }

// Apart reports nothing: here nobody can tell.
func Apart(int) bool { return false }

// Alive reports whether a program runs. Here nobody can tell: a number may have gone to another.
func Alive(string) bool { return false }

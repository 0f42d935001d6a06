//go:build unix

package natstest

import "syscall"

// Suspend stops the server in the middle of what it does, until Resume.
func (s *Server) Suspend() error { return s.Signal(syscall.SIGSTOP) }

// Resume has it go on.
func (s *Server) Resume() error { return s.Signal(syscall.SIGCONT) }

//go:build unix

package natstest

import "syscall"

// Suspend stops the server's execution until Resume.
func (s *Server) Suspend() error { return s.Signal(syscall.SIGSTOP) }

// Resume continues it.
func (s *Server) Resume() error { return s.Signal(syscall.SIGCONT) }

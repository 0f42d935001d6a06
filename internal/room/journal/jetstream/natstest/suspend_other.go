//go:build !unix

package natstest

import "errors"

// Suspend fails: only Unix can suspend a process.
func (s *Server) Suspend() error { return errors.ErrUnsupported }

// Resume fails, as Suspend does.
func (s *Server) Resume() error { return errors.ErrUnsupported }

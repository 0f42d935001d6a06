//go:build !unix

package natstest

import "errors"

// Suspend fails: no system but Unix stops a process in the middle of what it does.
func (s *Server) Suspend() error { return errors.ErrUnsupported }

// Resume fails, as Suspend does.
func (s *Server) Resume() error { return errors.ErrUnsupported }

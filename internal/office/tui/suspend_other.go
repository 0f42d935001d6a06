//go:build !unix

package tui

// suspend does nothing where shells do not stop programs.
func (r *runner) suspend() {}

package sessions

import "pennypost/internal/base/process"

// ended reports whether a program is known to have ended.
func ended(program string) bool {
	return process.Number(program) > 0 && !process.Alive(program)
}

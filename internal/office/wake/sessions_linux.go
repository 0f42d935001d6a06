package wake

import (
	"os"
	"strconv"
	"strings"

	"pennypost/internal/base/process"
)

// ended reports whether a program is known to have ended.
func ended(program string) bool {
	return programID(program) > 0 && !process.Alive(program)
}

// arguments returns the words of the command line of a program; none if they cannot be read.
func arguments(program string) []string {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(programID(program)) + "/cmdline")
	if err != nil || len(text) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00")
}

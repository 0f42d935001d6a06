package versions

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// Find returns the path of another program of this release: next to the running one, otherwise where the shell finds
// it. ok is false if it is in neither. beside is the first path that was tried.
func Find(program string) (path, beside string, ok bool) {
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	if self, err := os.Executable(); err == nil {
		beside = filepath.Join(filepath.Dir(self), program)
		places := []string{beside}
		if real, err := filepath.EvalSymlinks(self); err == nil {
			places = append(places, filepath.Join(filepath.Dir(real), program))
		}
		for _, p := range places {
			if info, err := os.Stat(p); err == nil && info.Mode().IsRegular() {
				return p, beside, true
			}
		}
	}
	found, err := exec.LookPath(program)
	return found, beside, err == nil
}

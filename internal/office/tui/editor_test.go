package tui

import (
	"slices"
	"testing"
)

// TestEditorCommand tests that on every system an editor gets its arguments, and the file's name as one word.
func TestEditorCommand(t *testing.T) {
	const file = `C:\Users\Ann Lee\AppData\Local\Temp\pennypost-1.md`
	for _, tt := range []struct {
		goos, command string
		want          []string
	}{
		{"linux", "code --wait", []string{"sh", "-c", `code --wait "$@"`, "code --wait", file}},
		{"windows", "notepad", []string{"notepad", file}},
		{"windows", " code  --wait ", []string{"code", "--wait", file}},
		{"windows", `"C:\Program Files\Vim\gvim.exe" --nofork`,
			[]string{`C:\Program Files\Vim\gvim.exe`, "--nofork", file}},
		{"windows", `"torn`, []string{`"torn`, file}},
	} {
		if got := editorCommand(tt.goos, tt.command, file); !slices.Equal(got, tt.want) {
			t.Errorf("editorCommand(%s, %s) = %q, want %q", tt.goos, tt.command, got, tt.want)
		}
	}
}

package install

import (
	"strings"
	"testing"
)

// TestGoose: the person edits Goose's file. Install prints the text to write, recognizes it afterwards, even as Goose
// has rewritten it, and names the changes to make; uninstall names the lines to remove. The file is never touched.
func TestGoose(t *testing.T) {
	const path = "home/.config/goose/config.yaml"
	p := newPlace(t)
	o := p.options(User)
	c, err := Find("goose")
	if err != nil {
		t.Fatal(err)
	}
	refused := func(do func(Client, *Options) (*Plan, error), want ...string) string {
		t.Helper()
		_, err := do(c, o)
		for _, w := range want {
			if err == nil || !strings.Contains(err.Error(), w) {
				t.Fatalf("%v, want an error with %q", err, w)
			}
		}
		_, line, _ := strings.Cut(err.Error(), "\n")
		return line
	}
	p.write(path, []byte("extensions:\n"))
	line := refused(Install, "config.yaml: ", "Nothing was changed", "below \"extensions:\"", `cmd: "`+o.Binary+`"`)
	for name, text := range map[string]string{
		"pasted": line,
		"Goose's": "  pennypost:\n    args:\n    - mcp\n    bundled: null\n    cmd: " + o.Binary +
			"\n    enabled: true\n",
		"quoted": "  pennypost:\n    cmd: '" + o.Binary + "' # here\n",
	} {
		p.write(path, []byte("# cmd: /x/pennypost\nextensions:\n"+text+"\n"))
		if plan, err := Install(c, o); err != nil || plan.Changed() {
			t.Errorf("%s: %+v, %v, want no change", name, plan, err)
		}
		if r := look(c, o); !r.Installed() || r.Behind() || r.Files[0].Entries[0].Binary != o.Binary {
			t.Errorf("%s: %+v", name, r)
		}
		refused(Uninstall, "Nothing was changed", "Remove the extension pennypost")
	}
	p.write(path, []byte(strings.ReplaceAll("extensions:\n"+line, o.Binary, `C:\\old\\pennypostd.exe`)))
	if got := look(c, o).Files[0].Entries[0]; got.Binary != `C:\old\pennypostd.exe` || got.Line != 2 {
		t.Errorf("the entry of a program that moved is %+v", got)
	}
	if got := refused(Install, "line 2: ", "Replace"); got != line {
		t.Errorf("%q is to be written, want %q", got, line)
	}
	p.write(path, []byte("extensions: {}\n"))
	if plan := p.uninstall(c, o); plan.Changed() {
		t.Errorf("uninstall from a file without us: %+v", plan)
	}
}

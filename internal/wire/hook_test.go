package wire

import (
	"slices"
	"testing"
)

// A hook's fields and the variables that matter arrive unchanged, and no other variables.
func FuzzHookHeader(f *testing.F) {
	f.Add("/srv/a b", "小克", "lab", "a,b; c=d")
	f.Add("", "", "", "")
	f.Add("\xff\x00\r\n", "%zz", "+", "=")
	f.Fuzz(func(t *testing.T, dir, as, room, tmux string) {
		in := Hook{Dir: dir, As: as, Room: room, Program: "7.1@b", Topmost: "all-of-7.1@b",
			Environ: []string{"SECRET=x", "TMUX=" + tmux}}
		var out Hook
		if err := out.SetHeader(in.Header()); err != nil {
			t.Fatal(err)
		}
		in.Environ = in.Environ[1:]
		if out.Dir != in.Dir || out.As != in.As || out.Room != in.Room || out.Program != in.Program ||
			out.Topmost != in.Topmost || !slices.Equal(out.Environ, in.Environ) {
			t.Errorf("%+v came as %+v", in, out)
		}
	})
}

func TestHookHeaderRefuses(t *testing.T) {
	for _, name := range []string{hookDir, hookVariable} {
		in := Hook{Environ: []string{"TMUX=x"}}
		h := in.Header()
		h.Set(name, "%zz")
		if err := new(Hook).SetHeader(h); err == nil {
			t.Errorf("%s that is not percent-encoded is taken", name)
		}
	}
	in := Hook{}
	h := in.Header()
	h.Set(hookVariable, "PATH=/bin")
	if err := new(Hook).SetHeader(h); err == nil {
		t.Error("a variable that does not matter is taken")
	}
}

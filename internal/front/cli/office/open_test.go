package office

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"pennypost/internal/front/cli"
)

// TestNoBrowser holds that a link is printed if no browser would open in front of the person.
func TestNoBrowser(t *testing.T) {
	for _, c := range []struct {
		env  map[string]string
		want bool
	}{
		{map[string]string{"DISPLAY": ":0"}, true},
		{map[string]string{"WAYLAND_DISPLAY": "wayland-0"}, true},
		{map[string]string{"DISPLAY": "localhost:10.0", "SSH_CONNECTION": "10.0.0.1 1 10.0.0.2 22"}, false},
		{map[string]string{"BROWSER": "lynx", "SSH_CONNECTION": "10.0.0.1 1 10.0.0.2 22"}, true},
	} {
		if got := hasBrowser(func(name string) string { return c.env[name] }); got != c.want {
			t.Errorf("with %v there is a browser: %v", c.env, got)
		}
	}
	var out bytes.Buffer
	env := cli.Env{Stdout: &out, Environ: []string{"SSH_CONNECTION=10.0.0.1 1 10.0.0.2 22"}}
	a := &app{&cli.App{Env: env, Out: cli.NewPrinter(env)}}
	if err := a.noBrowser("http://127.0.0.1:8765/login?key=K"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\n  http://127.0.0.1:8765/login?key=K\n", "ssh -L 8765:127.0.0.1:8765"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q lacks %q", out.String(), want)
		}
	}
}

// The address is one word of the command on every system. It has only been run on Linux so far.
func TestOpener(t *testing.T) {
	const link = "http://127.0.0.1:8765/login?key=a&b=%20c"
	for goos, want := range map[string][]string{
		"linux": {"xdg-open", link}, "freebsd": {"xdg-open", link}, "darwin": {"open", link},
		"windows": {"rundll32", "url.dll,FileProtocolHandler", link},
	} {
		if name, args := opener(goos, link); !slices.Equal(append([]string{name}, args...), want) {
			t.Errorf("opener(%s) = %s %q, want %q", goos, name, args, want)
		}
	}
}

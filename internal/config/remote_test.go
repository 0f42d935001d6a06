package config

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"pennypost/internal/base/selfsigned"
	"pennypost/internal/mail"
)

// TestRemote checks that a file written by join can be read again, only by its owner, and that damage is reported.
func TestRemote(t *testing.T) {
	home := Home(t.TempDir())
	if r, err := LoadRemote(home); r != nil || err != nil || home.HasRemote() {
		t.Fatalf("LoadRemote = %v, %v; want none", r, err)
	}
	want := &Remote{URL: "https://192.168.1.5:8766", Pin: selfsigned.Pin{1}, Token: "pp-machine.x",
		Machine: "laptop-2",
		Rooms:   []mail.RoomName{"lab", "夏"}, Agent: `a"b\c`}
	if err := want.Write(home); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(home.Remote()); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("remote.toml: %v, %v; want it closed to others", info.Mode(), err)
	}
	if got, err := LoadRemote(home); err != nil || !reflect.DeepEqual(got, want) || !home.HasRemote() {
		t.Errorf("LoadRemote = %+v, %v; want %+v", got, err, want)
	}
	text, err := os.ReadFile(home.Remote())
	if err != nil {
		t.Fatal(err)
	}
	for _, damage := range []func(string) string{
		func(s string) string { return s[:len(s)/2] },
		func(s string) string { return strings.Replace(s, "https:", "http:", 1) },
		func(s string) string { return strings.Replace(s, "01", "0", 1) },
		func(s string) string { return s + "other = 1\n" },
		func(string) string { return "" },
	} {
		if err := os.WriteFile(home.Remote(), []byte(damage(string(text))), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := LoadRemote(home); mail.CodeOf(err) != mail.Invalid || !strings.Contains(err.Error(),
			"pennypost invite") {
			t.Errorf("damaged: %v, want what to type", err)
		}
	}
}

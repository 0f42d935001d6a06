package dialect

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pennypost/internal/mail"
)

// A tool gets its arguments as declared, and does not run with others.
func TestWith(t *testing.T) {
	run := With(func(_ context.Context, _ *Call, args struct {
		To string `json:"to"`
	}) (string, error) {
		return "to " + args.To, nil
	})
	for args, want := range map[string]string{
		`{"to":"ann"}`:          "to ann",
		``:                      "to ",
		`{"to":"ann","cc":"b"}`: `invalid arguments of send: unknown member "cc"`,
		`{"to":"a","to":"b"}`:   `invalid arguments of send: the member "to" occurs twice`,
	} {
		out, err := run(t.Context(), &Call{Tool: "send", Args: []byte(args)})
		if err != nil {
			out = err.Error()
		}
		if out != want {
			t.Errorf("%s: %v, want %s", args, out, want)
		}
	}
}

// A missing file of a bridge's own loads as nothing; an unreadable one is an error, not a reason to start over.
func TestOwn(t *testing.T) {
	file := Own{Path: filepath.Join(t.TempDir(), "own.json"), Has: "the names"}
	var got map[string]int
	if err := file.Load(&got); err != nil || got != nil {
		t.Errorf("without a file: %v, %v", got, err)
	}
	if err := file.Save(map[string]int{"a": 1}); err != nil {
		t.Fatal(err)
	}
	if err := file.Load(&got); err != nil || got["a"] != 1 {
		t.Errorf("what was saved: %v, %v", got, err)
	}
	if err := os.WriteFile(file.Path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := file.Load(&got); mail.CodeOf(err) != mail.Unavailable || !strings.Contains(err.Error(), "the names") {
		t.Errorf("of a torn file: %v", err)
	}
}

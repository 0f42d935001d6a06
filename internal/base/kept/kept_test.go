package kept

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLoadAndSave(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	got := []string{"before"}
	if err := Load(path, &got); err != nil || len(got) != 1 {
		t.Fatalf("Load without a file = %q, %v, want what was there", got, err)
	}
	if err := Save(path, []string{"a", "b"}); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := Load(path, &got); err != nil || strings.Join(got, " ") != "a b" {
		t.Errorf("Load = %q, %v", got, err)
	}
	if info, err := os.Stat(path); err != nil || os.PathSeparator == '/' && info.Mode().Perm() != 0o600 {
		t.Errorf("others may read it: %v, %v", info.Mode(), err)
	}
	if err := os.WriteFile(path, []byte("no JSON"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Load(path, &got); err == nil {
		t.Error("Load of what is no JSON succeeds")
	}
}

func TestWord(t *testing.T) {
	path := filepath.Join(t.TempDir(), "word")
	made := 0
	load := func() (string, error) {
		return Word(path, "the word", func() string { made++; return "hello" },
			func(w string) bool { return w == "hello" })
	}
	for range 2 {
		if word, err := load(); word != "hello" || err != nil || made != 1 {
			t.Errorf("Word = %q, %v after %d were made", word, err, made)
		}
	}
	for _, other := range []string{"", "other\n"} {
		if err := os.WriteFile(path, []byte(other), 0o600); err != nil {
			t.Fatal(err)
		}
		if word, err := load(); err == nil || made != 1 {
			t.Errorf("Word of a file with %q = %q after %d were made, want an error", other, word, made)
		}
	}
}

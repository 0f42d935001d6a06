package lines

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// FuzzFile checks that any file is read as its whole lines, every time; that appended lines follow them; and that a
// rewrite that drops lines drops those and no other byte.
func FuzzFile(f *testing.F) {
	for _, s := range [][2]string{{"", ""}, {"a\nb", "c\n"}, {"\n\n", "x"}, {"{\"a\":1}\n", "{\"b"},
		{"\xff\x00\n", "\r\n"}, {"a\n", "a\nb\n"}} {
		f.Add([]byte(s[0]), []byte(s[1]))
	}
	f.Fuzz(func(t *testing.T, before, more []byte) {
		path := filepath.Join(t.TempDir(), "f")
		put := func(text []byte) {
			if err := os.WriteFile(path, text, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(path, time.Time{}, time.Now().Add(-time.Minute)); err != nil {
				t.Fatal(err)
			}
		}
		whole := func(text []byte) []byte { return text[:bytes.LastIndexByte(text, '\n')+1] }
		joined := func(lines [][]byte) (out []byte) {
			for _, l := range lines {
				out = append(append(out, l...), '\n')
			}
			return out
		}
		file := open(path)
		defer file.Close()
		put(before)
		first, again, err := file.Read()
		if err != nil || again || !bytes.Equal(joined(first), whole(before)) {
			t.Fatalf("of %q were read %q, %v, %v", before, first, again, err)
		}
		all := append(bytes.Clone(before), more...)
		put(all)
		rest, again, err := file.Read()
		if err != nil || again || !bytes.Equal(append(joined(first), joined(rest)...), whole(all)) {
			t.Fatalf("of %q and then %q were read %q and %q, %v, %v", before, more, first, rest, again, err)
		}
		if err := file.Append([]byte("ours")); err != nil {
			t.Fatal(err)
		}
		if len(all) > 0 && all[len(all)-1] != '\n' {
			all = append(all, '\n')
		}
		all = append(all, "ours\n"...)
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, all) {
			t.Fatalf("the file says %q, want %q", got, all)
		}
		drop := func(line []byte) []byte {
			if len(line)%2 == 0 {
				return nil
			}
			return line
		}
		if err := file.Rewrite(drop); err != nil {
			t.Fatal(err)
		}
		var want []byte
		for line := range bytes.Lines(all) {
			if len(line)%2 == 0 { // with its end
				want = append(want, line...)
			}
		}
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("the file says %q, want %q", got, want)
		}
	})
}

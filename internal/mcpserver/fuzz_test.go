package mcpserver

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"testing"
)

// FuzzReadLine holds that every line of a client is given once, in order, without its white space, and nothing else
// is.
func FuzzReadLine(f *testing.F) {
	for _, s := range []string{"{}\n{}\n", "\n\n {\"a\":1} \r\n", "no end", "\x00\n", "a\rb\n", ""} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var got []byte
		for r := bufio.NewReaderSize(bytes.NewReader(text), 16); ; {
			line, err := readLine(r)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%q: %v", text, err)
			}
			if len(line) > 0 { // a blank line is none
				got = append(append(got, line...), '\n')
			}
		}
		var want []byte
		for line := range bytes.Lines(text) {
			if line = bytes.TrimSpace(line); len(line) > 0 {
				want = append(append(want, line...), '\n')
			}
		}
		if len(text) < maxLine && !bytes.Equal(got, want) {
			t.Errorf("%q was read as %q, want %q", text, got, want)
		}
	})
}

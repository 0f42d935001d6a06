package jsonl

import (
	"bytes"
	"strings"
	"testing"

	"pennypost/internal/mail"
)

// expand lets a fuzzer that knows no checksums place good lines: control characters become good lines, with or without
// a newline.
func expand(b []byte) []byte {
	var content []byte
	for _, c := range b {
		switch {
		case c >= 1 && c <= 8:
			content = append(content, lineOf(int(c), mail.Seq(c))...)
		case c >= 0x11 && c <= 0x18:
			content = append(content, strings.TrimSuffix(lineOf(int(c-0x10), mail.Seq(c-0x10)), "\n")...)
		default:
			content = append(content, c)
		}
	}
	return content
}

func FuzzOpen(f *testing.F) {
	for _, s := range []string{
		"\x01\x02\x03", "\ufeff\x01\r\n\x12\r\n\x00{\"seq\":\x03", "\x13\x12\x11\x14", "a\n\n\x01\x01b",
		"\x11\x15\n\x13c\n\x02\x14", "0\n\r", "\x01\x12\r",
		`{"seq":1,"crc":"00000000"}`, "\x11\"}\x12,\"crc\":\"\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, short []byte) {
		content := expand(short)
		d := diskWith(string(content))
		// Each good line must survive. The test decides independently which lines are good.
		var want []mail.Seq
		for line := range bytes.Lines(bytes.TrimPrefix(content, utf8BOM)) {
			seq, _, err := check(bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r")))
			if err == nil && (len(want) == 0 || seq > want[len(want)-1]) {
				want = append(want, seq)
			}
		}
		j, err := openMem(d)
		if err != nil {
			t.Fatal(err)
		}
		got, err := j.seqs()
		if err != nil {
			t.Fatal(err)
		}
		for _, seq := range want {
			if len(got) == 0 {
				t.Fatalf("%d is lost", seq)
			}
			for len(got) > 1 && got[0] < seq { // salvaged
				got = got[1:]
			}
			if got[0] != seq {
				t.Fatalf("%d is lost", seq)
			}
			got = got[1:]
		}
		kept := append(d.content(mainPath), d.content(rejectedPath)...)
		for line := range bytes.Lines(bytes.TrimPrefix(content, utf8BOM)) {
			if bytes.HasSuffix(line, []byte("\n")) && !bytes.Contains(kept, line) {
				t.Fatalf("%q is nowhere", line)
			}
		}
		last := j.Last()
		if seq, err := j.Append(t.Context(), note(0)); seq != last+1 || err != nil {
			t.Fatalf("Append behind %d = %d, %v", last, seq, err)
		}
		j.Close()
		before := d.content(mainPath)
		if j, err = openMem(d); err != nil {
			t.Fatal(err)
		}
		defer j.Close()
		if r := j.Recovery(); r.Cut != 0 || r.Completed || r.SetAside != nil ||
			!bytes.Equal(before, d.content(mainPath)) {
			t.Fatalf("opening again repairs again: %+v", r)
		}
		for e, err := range j.Archived(t.Context(), 0, false) {
			t.Fatalf("archived: %v, %v", e, err)
		}
	})
}

package claudeteams

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"pennypost/internal/mail"
	"pennypost/internal/office/dialect"
)

// Rejected implements dialect.Files. An entry's line number is that of its first line.
func (f *files) Rejected() ([]mail.BadLine, error) {
	bad := dialect.BadLines{Dir: f.dir().Path(".")}
	if _, err := readConfig(f.dir(), configFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
		text, _ := f.dir().ReadFile(configFile) // an unreadable file has no excerpt
		bad.Add(f.dir().Path(configFile), 0, err, text)
	}
	for _, base := range slices.Sorted(maps.Keys(f.boxes)) {
		f.boxes[base].bad(&bad)
	}
	return bad.List, nil
}

// bad adds the elements of the inbox that are not messages.
func (b *box) bad(to *dialect.BadLines) {
	if b.broken != "" {
		text, _ := b.dir.ReadFile(b.name)
		to.Add(b.path(), 0, errors.New(b.broken), text)
		return
	}
	if b.odd > 0 {
		to.Add(b.path(), 0, fmt.Errorf("%d of its messages have an invalid sender or recipient name", b.odd),
			nil)
	}
	if b.rejected() == 0 {
		return
	}
	a, _ := parseInbox(b.text, 0)
	at := 0
	for i, l := range b.letters[:min(len(b.letters), len(a.elements))] {
		at += max(bytes.Index(b.text[at:], a.elements[i]), 0)
		if l.why != "" {
			to.Add(b.path(), 1+bytes.Count(b.text[:at], []byte("\n")), errors.New(l.why), a.elements[i])
		}
		at += len(a.elements[i])
	}
}

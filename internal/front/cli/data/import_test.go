package data

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"pennypost/internal/mail"
)

// parts is a room that records the size of imports, and fails after some of them.
type parts struct {
	most, taken, fails int
	known              map[mail.ID]bool
}

func (p *parts) Import(_ context.Context, items []mail.Item) (out mail.Imported, err error) {
	p.most = max(p.most, len(items))
	if p.taken++; p.taken == p.fails {
		return out, errors.New("the post office has gone")
	}
	for i := range items {
		if p.known[items[i].ID] {
			out.Skipped++
		} else {
			out.Added++
		}
		p.known[items[i].ID] = true
	}
	return out, nil
}

// TestImportInParts: a long import has one part in memory, on the way in too, and an interrupted one can be repeated.
func TestImportInParts(t *testing.T) {
	const n = 30*partMessages + 7
	text := func(open, between, end string) io.Reader {
		r, w := io.Pipe()
		go func() {
			_, _ = io.WriteString(w, open)
			for i := range n {
				if i > 0 {
					_, _ = io.WriteString(w, between)
				}
				fmt.Fprintf(w, `{"id":"m%d","body":"b"}`, i)
			}
			_, _ = io.WriteString(w, end)
			w.Close()
		}()
		return r
	}
	room := &parts{known: make(map[mail.ID]bool), fails: 3}
	told := 0
	tell := func(n int) { told += n }
	read := text("", "\n", "\n")
	done, err := importParts(t.Context(), room, readItems(read), tell)
	if err == nil || done.Added != 2*partMessages {
		t.Errorf("cut off after two parts: %+v, %v", done, err)
	}
	done, err = importParts(t.Context(), room, readItems(text("[", ",\n", "]")), tell)
	if err != nil || done != (mail.Imported{Added: n - 2*partMessages, Skipped: 2 * partMessages}) {
		t.Errorf("repeated: %+v, %v", done, err)
	}
	if room.most != partMessages || told != 2*partMessages+n {
		t.Errorf("%d messages came at once, and %d were told of; want %d and %d", room.most, told, partMessages,
			2*partMessages+n)
	}
	if err := read.(io.Closer).Close(); err != nil {
		t.Error(err)
	}
	large := strings.Repeat("x", partBytes/2+1)
	room = &parts{known: make(map[mail.ID]bool)}
	in := strings.NewReader(fmt.Sprintf(`[{"id":"a","body":%q},{"id":"b","body":%[1]q},{"id":"c","body":"x"}]`, large))
	if _, err := importParts(t.Context(), room, readItems(in), tell); err != nil || room.most != 2 || room.taken != 2 {
		t.Errorf("large bodies: %d at once in %d parts, %v", room.most, room.taken, err)
	}
}

//go:build linux

package proof

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"time"

	"pennypost/internal/mail"
)

// foreign is a program of another system that appends to the mailbox of a bridge, and knows nothing of Pennypost.
type foreign struct {
	dir  string // of the bridge
	seed uint64

	swap sync.Mutex // held while appending, and by a fault while the file is replaced

	mu    sync.Mutex
	lines []foreignLine
}

// foreignLine is a line of the foreign program, without its newline.
type foreignLine struct {
	text string
	id   mail.ID // empty: not a message
	body string
}

// mailbox is the file, as HAAK has it.
func (f *foreign) mailbox() string { return filepath.Join(f.dir, "data", "agent-mailbox.jsonl") }

// all returns the lines that were written completely.
func (f *foreign) all() []foreignLine {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.lines[:len(f.lines):len(f.lines)]
}

// line returns the n-th line: a message with unknown members in another order than ours, or garbage.
func (f *foreign) line(n int) foreignLine {
	r := dice(f.seed, fmt.Sprint("foreign/", n))
	if r.IntN(15) == 0 {
		return foreignLine{text: fmt.Sprintf("no JSON, number %d { \xff\"", n)}
	}
	l := foreignLine{id: mail.ID(fmt.Sprintf("haak-%d", n)), body: fmt.Sprintf("foreign %d 小克", n)}
	l.text = fmt.Sprintf(`{"x_odd": {"b":1,"a":[%d, 2.50]},"id":%q, "content":%q,"timestamp":%q,`+
		`"recipient":"sink-1","sender":"theirs","thread":null,"ttl_hours":168,"read_by":[ ]}`,
		r.IntN(100), l.id, l.body, time.Now().UTC().Format(time.RFC3339))
	return l
}

func (f *foreign) run(ctx context.Context) {
	for n := 1; ctx.Err() == nil; n++ {
		l := f.line(n)
		if f.write(l.text+"\n", n%10 == 0) == nil {
			f.mu.Lock()
			f.lines = append(f.lines, l)
			f.mu.Unlock()
		}
		pause(ctx, rand.N(400*time.Millisecond))
	}
}

// write appends text, on request in two halves, as a program with a small buffer does.
func (f *foreign) write(text string, halves bool) error {
	f.swap.Lock()
	defer f.swap.Unlock()
	file, err := os.OpenFile(f.mailbox(), os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	if halves {
		if _, err := file.WriteString(text[:len(text)/2]); err != nil {
			return err
		}
		time.Sleep(20 * time.Millisecond) // so that others could write in between, if they do that
		text = text[len(text)/2:]
	}
	_, err = file.WriteString(text)
	return err
}

package agenties

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"strings"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/base/lines"
	"pennypost/internal/mail"
	"pennypost/internal/office/dialect"
)

func (f *files) Write(ctx context.Context, changes []dialect.Change) (int, error) {
	b := batch{files: f}
	done := 0
	for i := range changes {
		var err error
		if c := &changes[i]; b.lead == nil && c.Message != nil {
			if b.lead, err = findLeaders(ctx, f.opts.Service); err != nil {
				return done, err
			}
		}
		switch c := &changes[i]; {
		case c.Message != nil:
			err = b.message(c)
		case c.Receipt != nil:
			b.receipt(c)
		case c.Erased != nil:
			if err = b.flush(); err == nil {
				done = i
				err = f.erase(c.Erased.Message)
			}
		}
		if err == nil && len(b.lines)+len(b.marks) >= batchSize {
			if err = b.flush(); err == nil {
				done = i + 1
			}
		}
		if err != nil {
			return done, err
		}
	}
	if err := b.flush(); err != nil {
		return done, err
	}
	return len(changes), nil
}

// batchSize is how many lines are written and synced together at most; it limits the linear searches in a batch.
const batchSize = 500

// batch holds lines to append. After an error the missing ones are written when the changes come again.
type batch struct {
	*files
	lead     leaders // looked up for the first message
	ids      []mail.ID
	lines    [][]byte
	receipts []receipt
	marks    [][]byte
}

// message adds a message unless the mailbox or its archive has it, because it came from there or was written before
// a crash.
func (b *batch) message(c *dialect.Change) error {
	m := *c.Message
	if m.Sent == 0 {
		m.Sent = c.At
	}
	if b.has(m.ID) {
		return nil
	}
	old, err := b.inArchive(&m)
	if old || err != nil {
		return err
	}
	line, err := new(fromItem(&m, false, b.lead)).encode()
	if err != nil {
		b.opts.Log.Error("message not written to the mailbox", "id", m.ID, "err", err)
		return nil
	}
	b.ids, b.lines = append(b.ids, m.ID), append(b.lines, line)
	return nil
}

// has reports whether the mailbox has a message or will have it.
func (b *batch) has(id mail.ID) bool {
	_, ok := b.known[id]
	for i := 0; !ok && i < len(b.ids); i++ {
		ok = b.ids[i] == id
	}
	return ok
}

// inArchive reports whether a message was trimmed. Only tidy and erasures change the archive.
func (f *files) inArchive(m *mail.Message) (bool, error) {
	month := monthOf(m.Sent)
	if f.archived[month] == nil {
		text, _, err := f.archive(month).Read()
		if err != nil {
			return false, err
		}
		ids := make(map[mail.ID]bool)
		for _, line := range text {
			ids[idOf(line)] = true
		}
		f.archived[month] = ids
	}
	return f.archived[month][m.ID], nil
}

// idOf returns the id in a line of any of our files, or "".
func idOf(line []byte) mail.ID {
	var l struct {
		ID mail.ID `json:"id"`
	}
	_ = jsonx.UnmarshalLenient(bytes.ToValidUTF8(line, []byte("\uFFFD")), &l)
	return l.ID
}

// receipt adds a read or unread mark. The document has no other marks, and none on a message that the mailbox lacks.
func (b *batch) receipt(c *dialect.Change) {
	r := receipt{ID: c.Receipt.Message, Reader: c.Receipt.Reader, At: c.At}
	switch c.Receipt.Mark {
	case mail.MarkRead:
		r.Read = true
	case mail.MarkUnread:
	default:
		return
	}
	if last, ok := b.last(r.ID, r.Reader); !b.has(r.ID) || ok && last.Read == r.Read || !ok && !r.Read &&
		!b.known[r.ID] {
		return
	}
	r.All = r.Read && c.Item != nil && everybodyRead(c.Item)
	line, err := jsonx.Marshal(r)
	if err != nil {
		b.opts.Log.Error("mark not saved", "id", r.ID, "err", err)
		return
	}
	b.receipts, b.marks = append(b.receipts, r), append(b.marks, line)
}

// last returns a reader's mark that our file has or will have.
func (b *batch) last(id mail.ID, reader mail.Address) (receipt, bool) {
	for i := len(b.receipts) - 1; i >= 0; i-- {
		if r := b.receipts[i]; r.ID == id && r.Reader == reader {
			return r, true
		}
	}
	return b.marked(id, reader)
}

// flush appends the batch.
func (b *batch) flush() error {
	if err := b.mailbox.Append(b.lines...); err != nil {
		return err
	}
	for _, id := range b.ids {
		b.known[id] = false
	}
	b.ids, b.lines = nil, nil
	if err := b.reads.Append(b.marks...); err != nil {
		return err
	}
	for _, r := range b.receipts {
		b.mark(r)
	}
	b.receipts, b.marks = nil, nil
	return nil
}

// erase removes a message from every file. Only erasures rewrite the mailbox while we run.
func (f *files) erase(id mail.ID) error {
	all := []*lines.File{f.mailbox, f.reads, f.trimmed}
	entries, err := f.dir.ReadDir(archiveDir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		if month, ok := strings.CutSuffix(e.Name(), ".jsonl"); ok && !e.IsDir() {
			all = append(all, f.archive(month))
		}
	}
	for _, file := range all {
		if err := drop(file, id); err != nil {
			return err
		}
	}
	delete(f.known, id)
	delete(f.marks, id)
	clear(f.archived)
	return nil
}

// drop removes the lines with an id from a file.
func drop(file *lines.File, id mail.ID) error {
	return file.Drop(func(line []byte) bool { return idOf(line) == id })
}

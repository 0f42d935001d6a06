package claudeteams

import (
	"bytes"
	"cmp"
	"errors"
	"hash/crc32"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"pennypost/internal/base/confined"
	"pennypost/internal/base/jsonx"
	"pennypost/internal/base/lines"
	"pennypost/internal/mail"
)

// inbox is one recipient's file as it was last read.
type inbox struct {
	dir   confined.Dir
	name  string // below dir
	team  string
	owner string // the owner's name in the team

	info    fs.FileInfo // nil until the file is read
	text    []byte
	end     int // offset after the last element if the text up to there has Claude Code's layout; else 0
	sum     uint32
	neat    bool
	blank   bool // the file is missing, empty or null: it holds no messages, and does not prove that any were removed
	letters []boxed
	counts  map[mail.ID]int     // number of entries with the same content, by the id of the first
	settled map[mail.ID]mail.ID // room ids of the entries that have an id of their own, by boxed.words
	clock   mail.Time           // sent time of the last message whose time is known
}

// boxed is an element of an inbox.
type boxed struct {
	entry
	id    mail.ID // "" if it is not a message
	words mail.ID // derived from inbox, own id and content; "" if it has no id of its own
	why   string  // why it is not a message
	junk  bool    // it cannot be meant as a message
}

// rejectedSuffix is appended to an inbox's name for the file that keeps elements that are not messages.
const rejectedSuffix = ".rejected.jsonl"

// newInbox returns the inbox called name below dir, which need not exist.
func newInbox(dir confined.Dir, name, team, owner string) *inbox {
	return &inbox{dir: dir, name: name, team: team, owner: owner, settled: make(map[mail.ID]mail.ID)}
}

func (b *inbox) path() string { return b.dir.Path(b.name) }

// load reads the file again if it may have changed, and reports whether the content is new. A missing file has no
// messages; a file that is not an array is an error and leaves the earlier content in place.
func (b *inbox) load() (changed bool, err error) {
	info, err := b.dir.Lstat(b.name)
	if errors.Is(err, fs.ErrNotExist) {
		changed = b.info != nil
		*b = *newInbox(b.dir, b.name, b.team, b.owner)
		b.blank = true
		return changed, nil
	}
	switch {
	case err != nil:
		return false, err
	case lines.Unchanged(b.info, info):
		return false, nil
	}
	text, err := b.dir.ReadFile(b.name)
	if err != nil {
		return false, err
	}
	if b.info != nil && bytes.Equal(text, b.text) {
		b.info = info
		return false, nil
	}
	if err := b.take(text, mail.TimeOf(info.ModTime())); err != nil {
		return false, err
	}
	b.info = info
	return true, nil
}

// take parses a text that was written at a given time. It does not parse the unchanged start of the text again: the
// inbox of a busy lead has thousands of messages.
func (b *inbox) take(text []byte, written mail.Time) error {
	known := b.end
	if known > len(text) || crc32.Checksum(text[:known], crc32.MakeTable(crc32.Castagnoli)) != b.sum {
		known = 0
	}
	a, ok := parseInbox(text, known)
	if known > 0 && !(ok && a.neat) {
		known = 0
		a, ok = parseInbox(text, 0)
	}
	blank := isBlank(text)
	if !ok && !blank {
		return mail.Errorf(mail.Unavailable, "%s is not a JSON array of messages. It stays unchanged, and nothing "+
			"is written to it until it is repaired", b.path())
	}
	if known == 0 {
		b.letters, b.counts, b.clock = nil, make(map[mail.ID]int), 0
	}
	for _, raw := range a.elements {
		b.letters = append(b.letters, b.box(raw))
	}
	b.dateFirst(written)
	b.text, b.neat, b.blank, b.end = text, a.neat, blank, 0
	if a.neat && len(b.letters) > 0 {
		b.end = len(text) - len("\n]")
	}
	b.sum = crc32.Checksum(text[:b.end], crc32.MakeTable(crc32.Castagnoli))
	return nil
}

// dateFirst dates the first messages, if their time is unknown, like the next message or, if none has a time, like
// the file.
func (b *inbox) dateFirst(written mail.Time) {
	known := slices.IndexFunc(b.letters, func(l boxed) bool { return l.sent != 0 })
	if known >= 0 {
		written = b.letters[known].sent
	}
	for i := range b.letters {
		if b.letters[i].sent == 0 && b.letters[i].why == "" {
			b.letters[i].sent = written
		}
	}
}

// isBlank reports whether a text is empty or null, like an inbox between its creation and the first write.
func isBlank(text []byte) bool {
	text = bytes.TrimSpace(text)
	return len(text) == 0 || string(text) == "null"
}

func (b *inbox) box(raw []byte) boxed {
	e, why, junk := parseEntry(raw)
	if why == "" && len(e.Text) > maxText {
		why = "its text is longer than " + strconv.Itoa(maxText>>20) + " MiB"
	}
	if why != "" {
		return boxed{why: why, junk: junk}
	}
	e.sent = cmp.Or(e.sent, b.clock) // it follows the messages written before it
	b.clock = e.sent
	first := e.entryID(b.team, b.owner, 0)
	l := boxed{entry: e, id: e.entryID(b.team, b.owner, b.counts[first])}
	if l.id == mail.ID(e.MsgID) {
		l.words = deriveID(b.team, b.owner, e.MsgID, e.From, e.Timestamp, e.Text)
		l.id = cmp.Or(b.settled[l.words], l.id)
	}
	b.counts[first]++
	return l
}

// nextID returns the id that an entry will have if it is added after those in behind.
func (b *inbox) nextID(e *entry, behind []*entry) mail.ID {
	n := b.counts[e.entryID(b.team, b.owner, 0)]
	for _, o := range behind {
		if o.same(e) {
			n++
		}
	}
	return e.entryID(b.team, b.owner, n)
}

// find returns the index of the entry with this id, or -1.
func (b *inbox) find(id mail.ID) int {
	return slices.IndexFunc(b.letters, func(l boxed) bool { return id != "" && l.id == id })
}

// wire reports whether the last message is of the native wire; ok is false if there is none.
func (b *inbox) wire() (native, ok bool) {
	for _, l := range slices.Backward(b.letters) {
		if l.why == "" {
			return l.native, true
		}
	}
	return false, false
}

// rejected returns the number of elements that are not messages.
func (b *inbox) rejected() (n int) {
	for _, l := range b.letters {
		if l.why != "" {
			n++
		}
	}
	return n
}

// changes are changes to an inbox.
type changes struct {
	add    [][]byte
	read   map[mail.ID]bool // new read flags
	remove []mail.ID
}

func (c *changes) empty() bool { return len(c.add)+len(c.read)+len(c.remove) == 0 }

// edit changes the file under its lock. plan looks at the content and returns the changes; if there are none, the
// file stays as it is. A missing file is created with its content, so that a reader finds no file or a whole one.
// Claude Code creates an empty file first, before it takes the lock.
func (b *inbox) edit(l locker, plan func() (changes, error)) error {
	if err := b.dir.MkdirAll(filepath.Dir(b.name), 0o700); err != nil {
		return err
	}
	return l.hold(b.dir, b.name, func(confirm func() error) error {
		if _, err := b.load(); err != nil {
			return err
		}
		c, err := plan()
		if err != nil || c.empty() && b.info != nil {
			return err
		}
		text, junk := b.apply(c)
		if err := b.setAside(junk); err != nil {
			return err
		}
		return replace(b.dir, b.name, text, confirm)
	})
}

// apply returns the changed text and the junk elements that it leaves out.
func (b *inbox) apply(c changes) (text []byte, junk [][]byte) {
	if b.neat && len(c.read)+len(c.remove)+b.rejected() == 0 {
		a := array{text: b.text, neat: true}
		return a.join(c.add), nil
	}
	a, _ := parseInbox(b.text, 0)
	var keep [][]byte
	for i, raw := range a.elements {
		l := &b.letters[i]
		flag, marked := c.read[l.id]
		switch {
		case l.junk:
			junk = append(junk, raw)
			continue
		case l.id != "" && slices.Contains(c.remove, l.id):
			continue
		case l.id != "" && marked && flag != l.Read:
			o, _ := parseObject(raw)
			raw = o.set("read", strconv.AppendBool(nil, flag)).neat(1)
		}
		keep = append(keep, raw)
	}
	return neatArray(append(keep, c.add...)), junk
}

// setAside keeps elements that are not messages in a file beside the inbox, except those that it kept before a
// crash.
func (b *inbox) setAside(junk [][]byte) error {
	if len(junk) == 0 {
		return nil
	}
	f := lines.Open(b.dir, b.name+rejectedSuffix, 0o600)
	have, _, err := f.Read()
	if err != nil {
		return err
	}
	var more [][]byte
	for _, raw := range junk {
		line := jsonx.AppendCompact(nil, raw)
		if !slices.ContainsFunc(have, func(h []byte) bool { return bytes.Equal(h, line) }) {
			more = append(more, line)
		}
	}
	return f.Append(more...)
}

// inboxNames returns the file names of the inboxes in a directory, without ".json".
func inboxNames(dir confined.Dir, name string) ([]string, error) {
	list, err := dir.ReadDir(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var out []string
	for _, f := range list {
		if base, ok := strings.CutSuffix(f.Name(), ".json"); ok && base != "" && base[0] != '.' && !f.IsDir() {
			out = append(out, base)
		}
	}
	return out, err
}

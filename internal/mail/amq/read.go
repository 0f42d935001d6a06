package amq

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"path"
	"slices"
	"strings"

	"pennypost/internal/base/confined"
	"pennypost/internal/mail"
)

// Bridge is the mail.Message.Via of the messages: only a file says who wrote them.
const Bridge = "amq"

// boxes are the directories with copies of a message. Files in inbox/tmp are not delivered yet, and those in dlq
// are reports about files that AMQ could not read.
var boxes = [...]string{"inbox/new", "inbox/cur", "outbox/sent"}

// Skipped is a file or a directory from which nothing is imported.
type Skipped struct {
	File string `json:"file"` // relative to the root
	Why  string `json:"why"`
}

// Box counts the messages in the inbox of an agent.
type Box struct {
	Unread int `json:"unread"`
	Read   int `json:"read"`
}

// Queue is an AMQ root whose message headers have been read.
type Queue struct {
	Files   int                `json:"files"` // copies of imported messages
	Skipped []Skipped          `json:"skipped"`
	Boxes   map[mail.Name]*Box `json:"boxes"`

	dir     confined.Dir
	letters map[string]*letter
	threads map[string]mail.ID // by AMQ's name of a thread: its oldest message
	order   []*letter          // by time
}

// letter is a message and its copies.
type letter struct {
	item  mail.Item // without its text
	names header
	is    sum
	files []string
	torn  bool // its copies differ
}

// Open reads the headers of all messages below the root at a path. A root is the directory that contains agents.
func Open(root string) (*Queue, error) {
	q := &Queue{dir: confined.At(root), Skipped: []Skipped{}, Boxes: make(map[mail.Name]*Box),
		letters: make(map[string]*letter), threads: make(map[string]mail.ID)}
	agents, err := q.dir.ReadDir("agents")
	if err != nil {
		return nil, q.noRoot(root, err)
	}
	for _, a := range agents {
		owner, err := address(a.Name())
		if err != nil {
			q.skip(path.Join("agents", a.Name()), err)
			continue
		}
		for _, box := range boxes {
			q.readBox(owner, path.Join("agents", a.Name(), box), box)
		}
	}
	q.settle()
	return q, nil
}

// noRoot returns the error for a directory without agents; it names the sessions below, each of which is a root of
// its own.
func (q *Queue) noRoot(root string, err error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return mail.Errorf(mail.Invalid, "cannot read the queue: %w", err)
	}
	list, _ := q.dir.ReadDir(".")
	for _, below := range list {
		if info, err := q.dir.Lstat(path.Join(below.Name(), "agents")); err == nil && info.IsDir() {
			return mail.Errorf(mail.Invalid, "%s has no directory agents, but %s in it has: import each session by "+
				"itself", root, below.Name())
		}
	}
	return mail.Errorf(mail.Invalid, "%s is not an AMQ root: it has no directory agents", root)
}

func (q *Queue) skip(file string, why error) {
	q.Skipped = append(q.Skipped, Skipped{File: file, Why: why.Error()})
}

// readBox reads one box of the agent with this address.
func (q *Queue) readBox(owner mail.Address, dir, box string) {
	list, err := q.dir.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		q.skip(dir, err)
		return
	}
	for _, f := range list {
		name := path.Join(dir, f.Name())
		if strings.HasPrefix(f.Name(), ".") || !strings.HasSuffix(f.Name(), ".md") {
			continue // AMQ does not treat it as a message
		}
		if err := q.add(owner, name, box); err != nil {
			q.skip(name, err)
		}
	}
}

// add reads one copy.
func (q *Queue) add(owner mail.Address, name, box string) error {
	h, body, is, err := readFile(q.dir, name)
	if err != nil {
		return err
	}
	l := q.letters[h.ID]
	if l == nil {
		item, err := convert(&h, body)
		if err != nil {
			return err
		}
		item.Body = ""
		l = &letter{item: item, names: h, is: is}
	}
	switch {
	case box == "outbox/sent" && l.item.From != owner:
		return fmt.Errorf("it is in the outbox of %s, but its header says that %s sent it", owner.Signer(), h.From)
	case box != "outbox/sent" && !slices.Contains(l.item.To, owner):
		return fmt.Errorf("it is in the inbox of %s, but not addressed to that agent", owner.Signer())
	}
	q.letters[h.ID] = l
	l.torn = l.torn || l.is != is
	l.files = append(l.files, name)
	if box != "outbox/sent" {
		l.deliver(owner, box == "inbox/cur")
	}
	return nil
}

// deliver records a copy in the inbox of a recipient. If new and cur both have one, the read copy counts.
func (l *letter) deliver(to mail.Address, read bool) {
	d := mail.Delivery{Address: to, Agent: to.Signer(), State: mail.Queued}
	if read {
		d.State = mail.Read
	}
	i := slices.IndexFunc(l.item.Deliveries, func(o mail.Delivery) bool { return o.Address == to })
	switch {
	case i < 0:
		l.item.Deliveries = append(l.item.Deliveries, d)
	case read:
		l.item.Deliveries[i] = d
	}
}

// settle determines the messages, their order and their threads, once all copies are known.
func (q *Queue) settle() {
	for _, id := range slices.Sorted(maps.Keys(q.letters)) {
		l := q.letters[id]
		if l.torn {
			for _, f := range l.files {
				q.skip(f, fmt.Errorf("several files have the id %s and differ, so the message is ambiguous", id))
			}
			delete(q.letters, id)
			continue
		}
		q.Files += len(l.files)
		q.order = append(q.order, l)
	}
	slices.SortStableFunc(q.order, func(a, b *letter) int { return cmp.Compare(a.item.Sent, b.item.Sent) })
	for _, l := range q.order {
		l.finish(q)
		slices.SortFunc(l.item.Deliveries, func(a, b mail.Delivery) int { return cmp.Compare(a.Address, b.Address) })
		for _, d := range l.item.Deliveries {
			q.count(d)
		}
	}
}

func (q *Queue) count(d mail.Delivery) {
	box := q.Boxes[d.Agent]
	if box == nil {
		box = new(Box)
		q.Boxes[d.Agent] = box
	}
	switch d.State {
	case mail.Queued:
		box.Unread++
	case mail.Read:
		box.Read++
	}
}

// finish sets the fields that depend on earlier messages: the thread, and the message answered. A recipient without
// a copy has nothing waiting in AMQ, whether the copy was cleaned up or moved, so nothing waits in the room.
func (l *letter) finish(q *Queue) {
	for _, ref := range slices.Backward(l.names.Refs) { // AMQ puts the message answered last
		if before := q.letters[ref]; before != nil && before != l && before.item.Sent <= l.item.Sent {
			l.item.ReplyTo = before.item.ID
			break
		}
	}
	if name := l.names.Thread; name != "" {
		if first, ok := q.threads[name]; ok {
			l.item.Thread = first
		} else {
			q.threads[name] = l.item.ID
		}
	}
	for _, to := range l.item.To {
		if !slices.ContainsFunc(l.item.Deliveries, func(d mail.Delivery) bool { return d.Address == to }) {
			l.item.Deliveries = append(l.item.Deliveries, mail.Delivery{Address: to, Agent: to.Signer(),
				State: mail.Archived})
		}
	}
}

// Len returns the number of messages.
func (q *Queue) Len() int { return len(q.order) }

// Headers yields the messages without their texts, oldest first.
func (q *Queue) Headers() iter.Seq[mail.Item] {
	return func(yield func(mail.Item) bool) {
		for _, l := range q.order {
			if !yield(l.item) {
				return
			}
		}
	}
}

// Items yields the messages, oldest first, and rereads their texts. If a file has changed since Open, its message
// is added to Skipped.
func (q *Queue) Items() iter.Seq2[mail.Item, error] {
	return func(yield func(mail.Item, error) bool) {
		for _, l := range q.order {
			_, body, is, err := readFile(q.dir, l.files[0])
			if errors.Is(err, fs.ErrNotExist) && !strings.Contains(l.files[0], "/sent/") {
				moved := strings.Replace(l.files[0], "/inbox/new/", "/inbox/cur/", 1) // it has been read since
				_, body, is, err = readFile(q.dir, moved)
			}
			if err == nil && is != l.is {
				err = errors.New("it changed during the import: import again")
			}
			if err != nil {
				q.skip(l.files[0], err)
				continue
			}
			item := l.item
			item.Body = body
			if !yield(item, nil) {
				return
			}
		}
	}
}

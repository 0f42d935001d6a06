package claudeteams

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"pennypost/internal/base/durable"
	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
)

// owed is what could not be brought into inboxes that cannot be read. It is kept in a file of the bridge's own and
// made up for when somebody has mended them, so that one inbox in trouble keeps the team's others from nothing.
type owed struct {
	file    string
	unsaved bool

	Inboxes map[string]*debt `json:"inboxes"` // by the file's name without ".json"
}

// debt is a job for later.
type debt struct {
	Post  []mail.ID        `json:"post,omitempty"` // messages of the room
	Read  map[mail.ID]bool `json:"read,omitempty"`
	Erase []mail.ID        `json:"erase,omitempty"` // entries
	Why   string           `json:"why"`
}

// brokenError says that an inbox cannot be read, which is nobody's trouble but its own.
type brokenError struct{ error }

func (e *brokenError) Unwrap() error { return e.error }

func openOwed(file string) (*owed, error) {
	o := &owed{file: file, Inboxes: make(map[string]*debt)}
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return o, nil
	}
	if err == nil {
		err = jsonx.Unmarshal(text, o)
	}
	if err != nil {
		return nil, mail.Errorf(mail.Unavailable,
			"%s, where Pennypost keeps what is still to be written to inboxes, cannot be read: %w", file, err)
	}
	return o, nil
}

// note notes a job that could not be done.
func (o *owed) note(j *job, why error) {
	d := &debt{Read: j.read, Erase: j.erase, Why: why.Error()}
	for _, it := range j.post {
		d.Post = append(d.Post, it.ID)
	}
	o.Inboxes[j.box.base], o.unsaved = d, true
}

// paid notes that nothing is owed to an inbox any more.
func (o *owed) paid(base string) {
	if o.Inboxes[base] != nil {
		delete(o.Inboxes, base)
		o.unsaved = true
	}
}

// save writes down what changed.
func (o *owed) save() error {
	if !o.unsaved {
		return nil
	}
	text, err := jsonx.Marshal(o)
	if err != nil {
		return err
	}
	if err := durable.WriteFile(o.file, text, 0o600); err != nil {
		return err
	}
	o.unsaved = false
	return nil
}

// trouble says what is owed, "" if nothing is.
func (o *owed) trouble() string {
	var all []string
	for _, base := range slices.Sorted(maps.Keys(o.Inboxes)) {
		d := o.Inboxes[base]
		all = append(all, fmt.Sprintf("%d changes wait for the inbox of %s: %s", len(d.Post)+len(d.Read)+len(d.Erase),
			base, d.Why))
	}
	return strings.Join(all, "; ")
}

// settle does a job, after what was owed to its inbox before. If the inbox cannot be read, all of it is owed.
func (f *files) settle(ctx context.Context, j *job) error {
	if err := f.addDebt(ctx, j); err != nil {
		return err
	}
	err := f.do(ctx, j)
	if broken, ok := errors.AsType[*brokenError](err); ok {
		f.owed.note(j, broken)
		return nil
	}
	if err == nil {
		f.owed.paid(j.box.base)
	}
	return err
}

// addDebt adds to a job what is owed to its inbox: messages that the room still has, to somebody who is still a
// member.
func (f *files) addDebt(ctx context.Context, j *job) error {
	d := f.owed.Inboxes[j.box.base]
	if d == nil {
		return nil
	}
	var before []*mail.Item
	for _, id := range d.Post {
		it, err := f.opts.Service.Message(ctx, id)
		if mail.CodeOf(err) == mail.NotFound {
			continue
		}
		if err != nil {
			return err
		}
		before = append(before, &it)
	}
	m, member := f.config.member(f.config.owner(j.box.base))
	if !member {
		before = nil
	}
	j.to = m
	has := func(it *mail.Item) bool {
		return slices.ContainsFunc(before, func(o *mail.Item) bool { return o.ID == it.ID })
	}
	j.post = append(before, slices.DeleteFunc(j.post, has)...)
	for id, flag := range d.Read {
		if _, later := j.read[id]; !later {
			j.read[id] = flag
		}
	}
	for _, id := range d.Erase {
		if !slices.Contains(j.erase, id) {
			j.erase = append(j.erase, id)
		}
	}
	return nil
}

// pay makes up for what is owed to inboxes that can be read again.
func (f *files) pay(ctx context.Context) error {
	plan := &jobs{f: f}
	for _, base := range slices.Sorted(maps.Keys(f.owed.Inboxes)) {
		if _, member := f.config.member(f.config.owner(base)); !member && !exists(f.dir(), inboxDir+"/"+base+".json") {
			f.owed.paid(base) // nobody is left who would be told, and no file
			continue
		}
		if err := f.settle(ctx, plan.of(base, 0)); err != nil {
			return err
		}
	}
	return f.owed.save()
}

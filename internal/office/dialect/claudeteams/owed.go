package claudeteams

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"pennypost/internal/mail"
	"pennypost/internal/office/dialect"
)

// owed is what could not be brought into inboxes that cannot be read or written. It is kept in a file of the bridge's
// own and made up for when they can be again, so that one inbox in trouble keeps the team's others from nothing.
type owed struct {
	file    dialect.Own
	unsaved bool

	Inboxes map[string]*debt `json:"inboxes"` // by the file's name without ".json"
}

// debt is a job for later.
type debt struct {
	Post  []mail.ID        `json:"post,omitempty"` // messages of the room
	Read  map[mail.ID]bool `json:"read,omitempty"`
	Erase []mail.ID        `json:"erase,omitempty"` // entries
	Since mail.Seq         `json:"since"`           // the place of the first change that it is for
	Why   string           `json:"why"`
}

func openOwed(file string) (*owed, error) {
	o := &owed{file: dialect.Own{Path: file, Has: "what is still to be written to inboxes"},
		Inboxes: make(map[string]*debt)}
	return o, o.file.Load(o)
}

// note notes a job that could not be done.
func (o *owed) note(j *job, why error) {
	d := &debt{Read: j.read, Erase: j.erase, Since: j.since, Why: why.Error()}
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
	err := o.file.Save(o)
	o.unsaved = err != nil
	return err
}

// trouble says what is owed, "" if nothing is.
func (o *owed) trouble() string {
	var all []string
	for _, base := range slices.Sorted(maps.Keys(o.Inboxes)) {
		d := o.Inboxes[base]
		wait := "1 change waits"
		if n := len(d.Post) + len(d.Read) + len(d.Erase); n != 1 {
			wait = fmt.Sprint(n, " changes wait")
		}
		all = append(all, fmt.Sprintf("%s for the inbox of %s: %s", wait, base, d.Why))
	}
	return strings.Join(all, "; ")
}

// Owes implements dialect.Owing.
func (f *files) Owes() (first mail.Seq) {
	for _, d := range f.owed.Inboxes {
		if first == 0 || d.Since < first {
			first = d.Since
		}
	}
	return first
}

// settle does jobs, each after what was owed to its inbox before. First those are done that need not wait for a lock;
// then, if they are fresh, the others. What cannot be done is owed, and tried again whenever something changes beside
// the inboxes, as when a lock is given back.
func (f *files) settle(ctx context.Context, list []*job, fresh bool) error {
	var late []*job
	for _, j := range list {
		if err := f.addDebt(ctx, j); err != nil {
			return err
		}
		before := f.owed.Inboxes[j.box.base]
		if f.try(ctx, j, 0) != nil && fresh && before == nil {
			late = append(late, j)
		}
	}
	for _, j := range late {
		_ = f.try(ctx, j, fewTries) // then it is owed, and trouble tells of it
	}
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	return f.owed.save()
}

// try does a job, or notes that it is owed.
func (f *files) try(ctx context.Context, j *job, tries int) error {
	err := f.do(ctx, j, locker{ctx, tries})
	if err != nil {
		f.owed.note(j, err)
	} else {
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
	j.to, j.since = m, min(j.since, d.Since)
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

// pay makes up for what is owed to inboxes that can be written again.
func (f *files) pay(ctx context.Context) error {
	plan := &jobs{f: f}
	for _, base := range slices.Sorted(maps.Keys(f.owed.Inboxes)) {
		if _, member := f.config.member(f.config.owner(base)); !member && !exists(f.dir(), inboxDir+"/"+base+".json") {
			f.owed.paid(base) // nobody is left who would be told, and no file
			continue
		}
		plan.of(base, f.owed.Inboxes[base].Since)
	}
	return f.settle(ctx, plan.list, false)
}

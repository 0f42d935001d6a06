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

// owed holds the changes to inboxes that could not be read or written. It is saved in a file of the bridge's own,
// and the changes are retried later, so that one bad inbox does not block the team's others.
type owed struct {
	file    dialect.Own
	unsaved bool

	Inboxes map[string]*debt `json:"inboxes"` // by file name without ".json"
}

// debt is a job to retry.
type debt struct {
	Post  []mail.ID        `json:"post,omitempty"` // message ids of the room
	Read  map[mail.ID]bool `json:"read,omitempty"`
	Erase []mail.ID        `json:"erase,omitempty"` // entry ids
	Since mail.Seq         `json:"since"`           // sequence number of its first change
	Why   string           `json:"why"`
}

func openOwed(file string) (*owed, error) {
	o := &owed{file: dialect.Own{Path: file, Has: "what is still to be written to inboxes"},
		Inboxes: make(map[string]*debt)}
	return o, o.file.Load(o)
}

// note records a job that failed.
func (o *owed) note(j *job, why error) {
	d := &debt{Read: j.read, Erase: j.erase, Since: j.since, Why: why.Error()}
	for _, it := range j.post {
		d.Post = append(d.Post, it.ID)
	}
	o.Inboxes[j.box.base], o.unsaved = d, true
}

// paid records that nothing is owed to an inbox any more.
func (o *owed) paid(base string) {
	if o.Inboxes[base] != nil {
		delete(o.Inboxes, base)
		o.unsaved = true
	}
}

// save writes the file if anything changed.
func (o *owed) save() error {
	if !o.unsaved {
		return nil
	}
	err := o.file.Save(o)
	o.unsaved = err != nil
	return err
}

// trouble describes the debts, or returns "" if there are none.
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

// settle does jobs, each after the debts of its inbox. It first tries all without waiting for a lock; then, if they
// are fresh, it waits briefly for the others. The rest is owed, and retried on every change in the directory, such
// as the release of a lock.
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
		_ = f.try(ctx, j, fewTries) // a failure is owed and reported by trouble
	}
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	return f.owed.save()
}

// try does a job or records it as owed.
func (f *files) try(ctx context.Context, j *job, tries int) error {
	err := f.do(ctx, j, locker{ctx, tries})
	if err != nil {
		f.owed.note(j, err)
	} else {
		f.owed.paid(j.box.base)
	}
	return err
}

// addDebt adds to a job the debts of its inbox: messages that the room still has, for an owner who is still a
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

// pay retries the changes owed to inboxes.
func (f *files) pay(ctx context.Context) error {
	plan := &jobs{f: f}
	for _, base := range slices.Sorted(maps.Keys(f.owed.Inboxes)) {
		if _, member := f.config.member(f.config.owner(base)); !member && !exists(f.dir(), inboxDir+"/"+base+".json") {
			f.owed.paid(base) // no member and no file is left
			continue
		}
		plan.of(base, f.owed.Inboxes[base].Since)
	}
	return f.settle(ctx, plan.list, false)
}

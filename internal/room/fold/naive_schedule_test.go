package fold_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/room/fold"
)

// schedule records a scheduled message, and what becomes of it.
func (n *naive) schedule(c *mail.ScheduleChange) {
	if e := c.Entry; e != nil {
		if sum, known := n.entries[e.Name]; (known && sum == e.Sum) != c.End {
			return
		}
		n.later = slices.DeleteFunc(n.later, func(o *mail.Scheduling) bool { return o.Entry == e.Name })
		if delete(n.entries, e.Name); c.End {
			return
		}
		n.entries[e.Name] = e.Sum
	}
	i := slices.IndexFunc(n.later, func(o *mail.Scheduling) bool { return o.ID == c.ID })
	switch {
	case c.Draft != nil:
		if i < 0 {
			n.person(c.From)
			n.later = append(n.later, &mail.Scheduling{Scheduled: mail.Scheduled{ID: c.ID, From: c.From, At: c.Due,
				Draft: *c.Draft}})
			if c.Entry != nil {
				n.later[len(n.later)-1].Entry = c.Entry.Name
			}
		}
	case i < 0 || c.Was != 0 && n.later[i].At != c.Was:
	case c.End:
		n.dropLater(c.ID)
	default:
		n.later[i].At = c.Due
	}
}

func (n *naive) dropLater(id mail.ID) {
	n.later = slices.DeleteFunc(n.later, func(c *mail.Scheduling) bool { return c.ID == id })
}

// toSend compares the scheduled messages, and their order.
func (n *naive) toSend(s *fold.State, _ mail.Time) string {
	var got, want []string
	for _, c := range s.ToSend() {
		got = append(got, fmt.Sprint(c.ID, c.From, c.At, c.Draft.Body, c.Entry))
	}
	later := slices.Clone(n.later)
	slices.SortStableFunc(later, func(a, b *mail.Scheduling) int { return int(a.At - b.At) })
	for _, c := range later {
		want = append(want, fmt.Sprint(c.ID, c.From, c.At, c.Draft.Body, c.Entry))
	}
	for name, e := range s.Entries {
		if n.entries[name] != e.Sum || e.Name != name {
			return fmt.Sprintf("entry %s is %+v, want %q", name, e, n.entries[name])
		}
	}
	if len(s.Entries) != len(n.entries) {
		return fmt.Sprintf("the entries are %v, want %v", s.Entries, n.entries)
	}
	if !slices.Equal(got, want) {
		return fmt.Sprintf("to be sent is\n%s, want\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	return ""
}

// schedule is a message that is scheduled, moved, sent or taken back.
func (h *author) schedule() {
	due := h.now.Add(time.Duration(1+h.IntN(3)) * time.Hour)
	if len(h.made) == 0 || h.one(2) {
		id := mail.ID(fmt.Sprintf("s%03d", len(h.made)+1))
		h.made = append(h.made, id)
		c := &mail.ScheduleChange{ID: id, From: h.who().Signer(), Due: due,
			Draft: &mail.Draft{Body: fmt.Sprint("later ", id)}}
		if h.one(2) {
			c.Entry = h.entry()
		}
		h.add(act{Event: mail.Event{Schedule: c}})
		return
	}
	if h.one(6) {
		h.add(act{Event: mail.Event{Schedule: &mail.ScheduleChange{End: true, Entry: h.entry()}}})
		return
	}
	c := &mail.ScheduleChange{ID: pick(h, h.made), Due: due}
	if h.one(4) {
		c.Was = h.now
	}
	if h.one(3) {
		c.Due, c.End = 0, true
	}
	h.add(act{Event: mail.Event{Schedule: c}})
}

// entry is an entry of the configuration, in one of its versions.
func (h *author) entry() *mail.ScheduleEntry {
	return &mail.ScheduleEntry{Name: pick(h, []string{"one", "two"}), Sum: pick(h, []string{"a", "b"})}
}

package superportia

import (
	"context"
	"slices"

	"pennypost/internal/fence"
	"pennypost/internal/mail"
	"pennypost/internal/office/dialect"
)

// mailbox returns all messages ever delivered to an identity, newest first, including those in the room's archive:
// the document's mailbox is a log that nothing leaves. It is read whole, because the answer counts it.
func mailbox(ctx context.Context, svc mail.Service, owner mail.Name, now mail.Time) (m contents, err error) {
	if m.signs, err = signerOf(ctx, svc); err != nil {
		return m, err
	}
	m.owner = m.signs.owner(owner)
	items, err := dialect.History(ctx, svc, mail.HistoryQuery{Agent: m.owner, Archive: true}, 0)
	for _, it := range slices.Backward(items) {
		if l, ok := letterOf(it, m.owner, now); ok {
			m.letters = append(m.letters, l)
		}
	}
	return m, err
}

// contents is the content of a mailbox.
type contents struct {
	letters []letter
	owner   mail.Name // name in the room
	signs   signer
}

// selection selects messages of a mailbox.
type selection struct {
	unreadOnly, withArchived bool
	limit                    int
}

// choice is the result of a selection.
type choice struct {
	contents // urgent unread ones first, then all newest first
	// The mailbox's unread and total counts, without archived mail unless it was selected.
	unread, total int
}

// choose returns all messages that s selects. Archived mail is never unread.
func (s selection) choose(m contents) (c choice) {
	c.owner, c.signs = m.owner, m.signs
	var rest []letter
	for _, l := range m.letters {
		if l.archived() && !s.withArchived {
			continue
		}
		c.total++
		if l.unread() {
			c.unread++
		}
		switch {
		case l.unread() && l.Priority == mail.Urgent:
			c.letters = append(c.letters, l)
		case l.unread() || !s.unreadOnly:
			rest = append(rest, l)
		}
	}
	c.letters = append(c.letters, rest...)
	return c
}

// list returns as many selected messages as one answer holds, and the ids of those that are fresh and whole.
func (s selection) list(letters fence.Letters, c choice) (out listing, fresh []mail.ID, err error) {
	letters.Reader = c.owner
	was := make(map[mail.ID]bool)
	for _, l := range c.letters[:min(s.limit, len(c.letters))] {
		letters.Items = append(letters.Items, l.Item)
		was[l.ID] = l.fresh
	}
	out, shown, err := fence.FitLetters(letters, func(sh fence.Shown) listing {
		out := listing{Unread: c.unread, Total: c.total, Messages: make([]entry, len(sh.Items)),
			More: len(c.letters) - len(sh.Items)}
		for i := range sh.Items {
			out.Messages[i] = entryOf(&sh.Items[i], c.signs)
		}
		out.Note = note(out.More, sh.AnyCut())
		return out
	})
	for _, it := range shown.Whole() {
		if was[it.ID] {
			fresh = append(fresh, it.ID)
		}
	}
	return out, fresh, err
}

// note tells the reader how to continue.
func note(more int, cut bool) string {
	const on = "mark or archive what you have dealt with, and check again with unread_only"
	switch {
	case cut:
		return "Bodies that end in [Cut: …] are not whole. Ask for fewer (limit): one message alone comes whole. " +
			"For the others " + on + "."
	case more > 0:
		return "For more, raise limit; or " + on + "."
	}
	return ""
}

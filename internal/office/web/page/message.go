package page

import (
	"cmp"
	"net/url"
	"strconv"
	"strings"

	"pennypost/internal/mail"
	"pennypost/internal/mail/triage"
	"pennypost/internal/office/web/words"
)

// Post is a message on a page. Its view is that of its room.
type Post struct {
	*View
	mail.Item
	Reply       string       // the address to answer at; "": not on this page
	ManyReaders bool         // its recipients are only counted
	Notes       []words.Note // the steps of its deliveries; if empty, Deliveries has their state
}

// Posts are messages of this room on the page.
func (v *View) Posts(items []mail.Item) []Post {
	out := make([]Post, len(items))
	for i := range items {
		out[i] = Post{View: v, Item: items[i]}
	}
	return out
}

// Heading is the subject, or its substitute.
func (p Post) Heading() string { return words.Subject(&p.Message) }

// Told is the message on one line.
func (p Post) Told() string { return cmp.Or(p.Subject, words.Told(&p.Message)) }

// ThreadHref is the address of the conversation, at this message.
func (p Post) ThreadHref() string {
	return p.Base + "/t/" + url.PathEscape(string(p.ThreadRoot())) + "#m-" + string(p.ID)
}

// Mine reports whether the user wrote it.
func (p Post) Mine() bool { return p.From == mail.ToUser }

// At is when it was sent, in milliseconds: the order of lists.
func (p Post) At() int64 { return int64(p.Sent) }

// Asks reports whether it is an open question to the user.
func (p Post) Asks() bool { return p.Item.Open && triage.ToUser(&p.Message) }

// Due says when a snoozed message comes back.
func (p Post) Due() string { return words.Moment(p.Now, p.Snoozed) }

// Unopened reports whether opening it marks it read.
func (p Post) Unopened() bool { return !p.Read && p.State != "" }

// Fate is the message's delivery state in one word, and whether it holds for all recipients.
func (p Post) Fate() words.Outcome { return words.OutcomeOf(p.Deliveries) }

// Seen says how many recipients have read the message.
func (p Post) Seen() string {
	n := 0
	for _, d := range p.Deliveries {
		if d.State == mail.Read || d.State == mail.Archived {
			n++
		}
	}
	return "read by " + strconv.Itoa(max(n, p.ReadBy)) + " of " + strconv.Itoa(len(p.Deliveries)+p.Others)
}

// mostReaders limits the recipients named in a tooltip.
const mostReaders = 20

// Readers lists the recipients with their states.
func (p Post) Readers() string {
	var out []string
	most := p.Deliveries[:min(len(p.Deliveries), mostReaders)]
	for _, d := range most {
		out = append(out, cmp.Or(string(d.Agent), string(d.Address))+": "+d.State.Word())
	}
	if n := len(p.Deliveries) + p.Others - len(most); n > 0 {
		out = append(out, "and "+strconv.Itoa(n)+" more")
	}
	return strings.Join(out, "\n")
}

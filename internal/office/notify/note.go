package notify

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/office/markdown"
)

// Channel is one way to tell the person. Its errors are for people and hold no secrets.
type Channel interface {
	// Send delivers a note and returns the other side's answer. After a failure it may be called again with the same
	// note. It gives up when ctx ends, and after a time of its own in any case.
	Send(ctx context.Context, n *Note) (answer string, err error)
}

// Note is one notification about one letter or several. Its JSON goes to webhooks and commands.
type Note struct {
	ID      string    `json:"id"`      // the same on a retry
	Subject string    `json:"subject"` // one line
	Text    string    `json:"text"`    // the body
	Urgent  bool      `json:"urgent"`
	Letters []Letter  `json:"messages"`
	URL     string    `json:"url,omitempty"` // opened by a click
	Buttons []Button  `json:"-"`             // answers to its only letter
	until   time.Time // expiry of the buttons
	// Open opens the letter in this machine's browser. Nil: not possible.
	Open func() `json:"-"`
}

// Letter is a message or a dialog that the person is told of.
type Letter struct {
	Room     mail.RoomName `json:"room"`
	ID       mail.ID       `json:"id"`
	Type     mail.Type     `json:"type"`
	From     mail.Address  `json:"from"`
	Subject  string        `json:"subject,omitempty"`
	Preview  string        `json:"preview,omitempty"` // the first words, if included
	Urgent   bool          `json:"urgent,omitzero"`
	Question bool          `json:"question,omitzero"` // it waits for an answer
	Dialog   bool          `json:"dialog,omitzero"`   // not a message: a question of an agent's client
	Office   bool          `json:"office,omitzero"`   // not a message and in no room: word from the post office itself
	Sent     mail.Time     `json:"sent"`
	Options  []string      `json:"options,omitempty"` // answers offered, if previews are included

	seq     mail.Seq // sequence number in the room
	options []string // answers offered
	notice  string   // the failed channel that it reports; "": none
}

// Button is an answer that can be given without opening anything.
type Button struct {
	Label string
	Token string // proves, when it comes back, that this button was pressed
}

const (
	maxPreview = 240      // characters
	maxListed  = 8        // letters in a digest
	maxNamed   = 3        // senders in a digest's subject
	maxShown   = 120      // characters of a subject or a name
	maxButtons = 3        // ntfy's limit
	maxLabel   = 40       // characters of a button's label
	noticeKey  = "notify" // metadata key of a message that a channel fails
)

// letterOf returns the letter about a message.
func letterOf(room mail.RoomName, it *mail.Item) Letter {
	preview := cmp.Or(markdown.Preview(it.Body, maxPreview), shortened(it.DocNames(), maxShown))
	l := Letter{
		Room: room, ID: it.ID, Type: it.Type, From: it.From, Subject: shortened(it.Subject, maxShown),
		Preview: preview, Urgent: it.Priority == mail.Urgent, Question: it.Open,
		Sent: it.Sent, seq: it.Seq,
	}
	if l.Question {
		for _, o := range it.Choices() {
			l.options = append(l.options, o.Answer)
		}
	}
	if it.From.Signer() == mail.System {
		l.notice = it.Metadata.Text(noticeKey)
	}
	return l
}

// name returns the sender's name for people.
func (l *Letter) name() string {
	if l.From.Signer() == mail.System {
		return "the post office"
	}
	return shortened(strings.TrimPrefix(strings.TrimPrefix(string(l.From), "agent:"), "far:"), maxShown)
}

// headline describes a letter in one line.
func (l *Letter) headline() string {
	who := l.name()
	switch {
	case l.Dialog, l.Office:
		return l.Subject
	case l.Question && l.Subject == "":
		return who + " asks you something"
	case l.Question:
		return who + " asks: " + l.Subject
	case l.Subject == "":
		return who + " wrote to you"
	}
	return who + ": " + l.Subject
}

// listed returns a letter's line in a digest: with a dialog's question, or the beginning of a letter without a
// subject.
func (l *Letter) listed() string {
	switch text := shortened(l.Preview, maxShown); {
	case l.Dialog && text != "":
		return l.Subject + " " + text
	case l.Question && l.Subject == "" && text != "":
		return l.name() + " asks: " + text
	case l.Subject == "" && text != "":
		return l.name() + ": " + text
	}
	return l.headline()
}

// path returns a letter's path on the pages.
func (l *Letter) path() string {
	switch {
	case l.Office:
		return "/"
	case l.Dialog:
		return "/@" + url.PathEscape(string(l.Room)) + "/?d=" + url.QueryEscape(string(l.ID))
	}
	return "/@" + url.PathEscape(string(l.Room)) + "/?m=" + url.QueryEscape(string(l.ID))
}

// compose makes a note from letters. base is the address of the pages for the person's browser, or ""; with text,
// previews are included.
func compose(id string, letters []Letter, base string, text bool) *Note {
	slices.SortStableFunc(letters, func(a, b Letter) int {
		return cmp.Or(cmp.Compare(a.Sent, b.Sent), cmp.Compare(a.seq, b.seq))
	})
	n := &Note{ID: id, Letters: letters}
	for i := range letters {
		n.Urgent = n.Urgent || letters[i].Urgent
		if letters[i].Options = letters[i].options; !text {
			letters[i].Preview, letters[i].Options = "", nil
		}
	}
	first := &letters[0]
	if base != "" {
		n.URL = base + "/"
	}
	if len(letters) > 1 {
		n.Subject, n.Text = digest(letters)
		return n
	}
	if n.Subject = first.headline(); first.Urgent {
		n.Subject = "Urgent: " + n.Subject
	}
	switch n.Text = first.Preview; {
	case first.Dialog:
		n.Text = first.dialogText()
	case first.Office && n.Text == "":
		n.Text = "To see what to do: pennypost doctor"
	case n.Text == "":
		n.Text = "In room " + string(first.Room) + "."
	}
	if base != "" {
		n.URL = base + first.path()
	}
	return n
}

// digest describes several letters.
func digest(letters []Letter) (subject, text string) {
	var names, lines []string
	questions, urgent := 0, 0
	for i := range letters {
		l := &letters[i]
		if name := l.name(); !slices.Contains(names, name) {
			names = append(names, name)
		}
		if l.Question {
			questions++
		}
		if l.Urgent {
			urgent++
		}
		if i < maxListed {
			lines = append(lines, "• "+l.listed())
		}
	}
	if more := len(letters) - maxListed; more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	switch {
	case questions == len(letters):
		subject = fmt.Sprintf("%d questions", questions)
	case urgent == len(letters):
		subject = fmt.Sprintf("%d urgent messages", urgent)
	default:
		subject = fmt.Sprintf("%d messages", len(letters))
		if questions > 0 {
			subject += fmt.Sprintf(", %d of them questions,", questions)
		}
	}
	return subject + " from " + named(names), strings.Join(lines, "\n")
}

// named lists names, only the first few of many.
func named(names []string) string {
	switch more := len(names) - maxNamed; {
	case more > 0:
		return strings.Join(names[:maxNamed], ", ") + fmt.Sprintf(" and %d others", more)
	case len(names) == 1:
		return names[0]
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

// shortened returns s on one line, with at most that many characters.
func shortened(s string, most int) string {
	s = strings.Join(strings.Fields(s), " ")
	if long := []rune(s); len(long) > most {
		return string(long[:most-1]) + "…"
	}
	return s
}

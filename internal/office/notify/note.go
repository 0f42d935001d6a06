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
	// Send hands a note over, and returns what the other side answered. It may be called again with the same note when
	// it failed. It gives up when ctx ends, and within its own time in any case.
	Send(ctx context.Context, n *Note) (answer string, err error)
}

// Note is what the person is told at once: of one letter, or of several. Its JSON is what webhooks and commands get.
type Note struct {
	ID      string    `json:"id"`      // the same when it is sent again
	Subject string    `json:"subject"` // one line
	Text    string    `json:"text"`    // what stands below it
	Urgent  bool      `json:"urgent"`
	Letters []Letter  `json:"messages"`
	URL     string    `json:"url,omitempty"` // what a click opens
	Buttons []Button  `json:"-"`             // answers to the one letter that it is about
	until   time.Time // when these end
	// Open opens the pages at the letter, on the desktop of this machine. Nil: that cannot be done.
	Open func() `json:"-"`
}

// Letter is a message that the person is told of, or a dialog.
type Letter struct {
	Room     mail.RoomName `json:"room"`
	ID       mail.ID       `json:"id"`
	Type     mail.Type     `json:"type"`
	From     mail.Address  `json:"from"`
	Subject  string        `json:"subject,omitempty"`
	Preview  string        `json:"preview,omitempty"` // its first words, where they go along
	Urgent   bool          `json:"urgent,omitzero"`
	Question bool          `json:"question,omitzero"` // it waits for an answer
	Dialog   bool          `json:"dialog,omitzero"`   // no message: what the client of an agent asks
	Office   bool          `json:"office,omitzero"`   // no message, and in no room: word of the post office itself
	Sent     mail.Time     `json:"sent"`
	Options  []string      `json:"options,omitempty"` // answers that it offers, where first words go along

	seq     mail.Seq // its place in the room
	options []string // answers that it offers
	notice  string   // the channel of whose failure it tells; "": none
}

// Button is an answer that can be given without opening anything.
type Button struct {
	Label string
	Token string // what proves, when it comes back, that this button was pressed
}

const (
	maxPreview = 240      // characters
	maxListed  = 8        // letters in a digest
	maxNamed   = 3        // senders in the subject of one
	maxShown   = 120      // characters of a subject or a name
	maxButtons = 3        // ntfy shows no more
	maxLabel   = 40       // characters of a button's label
	noticeKey  = "notify" // of the metadata of word that a channel fails
)

// letterOf returns what the person is told of a message.
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

// name is a sender in words.
func (l *Letter) name() string {
	if l.From.Signer() == mail.System {
		return "the post office"
	}
	return shortened(strings.TrimPrefix(strings.TrimPrefix(string(l.From), "agent:"), "far:"), maxShown)
}

// headline says in a line what a letter is.
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

// listed is a letter in a digest. Of a dialog it names what is asked, of a letter without a subject how it begins.
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

// path is where the pages show a letter.
func (l *Letter) path() string {
	switch {
	case l.Office:
		return "/"
	case l.Dialog:
		return "/@" + url.PathEscape(string(l.Room)) + "/?d=" + url.QueryEscape(string(l.ID))
	}
	return "/@" + url.PathEscape(string(l.Room)) + "/?m=" + url.QueryEscape(string(l.ID))
}

// compose makes a note of letters. base is where the person's browser finds the pages, if that is known; with text,
// first words go along.
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
		n.Text = "What to do is said by: pennypost doctor"
	case n.Text == "":
		n.Text = "In room " + string(first.Room) + "."
	}
	if base != "" {
		n.URL = base + first.path()
	}
	return n
}

// digest tells of several letters.
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

// named lists names, the first of many.
func named(names []string) string {
	switch more := len(names) - maxNamed; {
	case more > 0:
		return strings.Join(names[:maxNamed], ", ") + fmt.Sprintf(" and %d others", more)
	case len(names) == 1:
		return names[0]
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

// shortened is text in one line, of at most so many characters.
func shortened(s string, most int) string {
	s = strings.Join(strings.Fields(s), " ")
	if long := []rune(s); len(long) > most {
		return string(long[:most-1]) + "…"
	}
	return s
}

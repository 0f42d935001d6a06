package claudeteams

import (
	"context"
	"fmt"
	"io"
	"strings"

	"pennypost/internal/mail"
	"pennypost/internal/office/dialect"
)

// shown is a team in the output of "team show".
type shown struct {
	Team        string      `json:"team"`
	Dir         string      `json:"dir"`
	Description string      `json:"description,omitempty"`
	Lead        string      `json:"lead"`
	Members     []shownOne  `json:"members"`
	Handshakes  []handshake `json:"handshakes"`
}

type shownOne struct {
	Name     string     `json:"name"`
	Color    string     `json:"color,omitempty"`
	State    mail.State `json:"state,omitempty"`
	PlanMode bool       `json:"plan_mode,omitzero"`
	Messages int        `json:"messages"`
	Unread   int        `json:"unread"`       // including frames
	Plain    int        `json:"unread_plain"` // without protocol frames
}

// show implements "team show".
func show(ctx context.Context, t *team, v *dialect.Invocation) error {
	if len(v.Args) > 1 {
		return t.showInbox(v.Args[1])
	}
	s := shown{Team: t.config.name, Dir: t.dir, Description: t.config.object.string("description"),
		Lead: t.config.lead, Members: []shownOne{}}
	for _, m := range t.config.members {
		one := shownOne{Name: m.name, Color: m.color, State: m.state, PlanMode: m.planMode}
		if err := t.count(&one); err != nil {
			return err
		}
		s.Members = append(s.Members, one)
	}
	var err error
	if s.Handshakes, err = t.handshakes(); err != nil {
		return err
	}
	if s.Handshakes == nil {
		s.Handshakes = []handshake{}
	}
	if v.JSON {
		return v.WriteJSON(s)
	}
	return s.print(v.Stdout)
}

func (t *team) count(one *shownOne) error {
	b := t.box(one.Name)
	if _, err := b.load(); err != nil {
		return err
	}
	for _, l := range b.letters {
		if l.why != "" {
			continue
		}
		one.Messages++
		if l.Read {
			continue
		}
		one.Unread++
		if _, ok := classify(l.Text); !ok {
			one.Plain++
		}
	}
	return nil
}

func (s *shown) print(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s\n", s.Team, s.Dir)
	if s.Description != "" {
		fmt.Fprintf(&b, "%s\n", s.Description)
	}
	for _, m := range s.Members {
		fmt.Fprintf(&b, "  %s", m.Name)
		for _, word := range []string{map[bool]string{true: "lead"}[m.Name == s.Lead], m.Color, string(m.State)} {
			if word != "" {
				fmt.Fprintf(&b, "  %s", word)
			}
		}
		fmt.Fprintf(&b, "  %d unread, %d of them plain\n", m.Unread, m.Plain)
	}
	for _, h := range s.Handshakes {
		fmt.Fprintf(&b, "  %s of %s: %s  %s\n", h.Kind, h.Member, h.State, h.ID)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// shownLetter is one line of an inbox listing.
type shownLetter struct {
	From    string    `json:"from"`
	To      string    `json:"to"`
	Type    string    `json:"type,omitempty"` // of the frame
	Subject string    `json:"subject,omitempty"`
	Text    string    `json:"text"`
	Sent    mail.Time `json:"timestamp"`
	Read    bool      `json:"read"`
	Times   int       `json:"times,omitzero"` // number of idle notices merged into this one, the last

	line string // the summary
}

func (t *team) showInbox(name string) error {
	b := t.box(name)
	if _, ok := t.config.member(name); !ok && !exists(b.dir, b.name) {
		_, err := t.member(name)
		return err
	}
	if _, err := b.load(); err != nil {
		return err
	}
	letters := b.collapsed()
	if t.v.JSON {
		return t.v.WriteJSON(letters)
	}
	for _, l := range letters {
		mark, times := "*", ""
		if l.Read {
			mark = " "
		}
		if l.Times > 1 {
			times = fmt.Sprintf(" (%d times)", l.Times)
		}
		if _, err := fmt.Fprintf(t.v.Stdout, "%s %s  %s  %s%s\n", mark, l.Sent, l.From, l.line, times); err != nil {
			return err
		}
	}
	return nil
}

// collapsed returns the messages, with consecutive idle notices of one sender merged.
func (b *inbox) collapsed() []shownLetter {
	out := []shownLetter{}
	for _, l := range b.letters {
		if l.why != "" {
			continue
		}
		it := (&letter{entry: l.entry, to: mail.Name(b.owner)}).item()
		f, _ := classify(l.Text)
		s := shownLetter{From: l.From, To: b.owner, Type: f.kind, Subject: it.Subject, Text: l.Text, Sent: l.sent,
			Read: l.Read, line: summary(&it.Message)}
		if last := len(out) - 1; f.kind == "idle_notification" && last >= 0 && out[last].Type == f.kind &&
			out[last].From == l.From {
			s.Times = max(out[last].Times, 1) + 1
			s.Read = s.Read && out[last].Read
			out[last] = s
			continue
		}
		out = append(out, s)
	}
	return out
}

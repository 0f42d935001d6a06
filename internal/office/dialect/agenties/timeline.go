package agenties

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
)

// everything returns the project's messages of some types in the document's format, including archived ones, in the
// order of arrival: the newest limit messages, or all if limit is 0.
func everything(ctx context.Context, svc mail.Service, types []mail.Type, limit int) ([]message, error) {
	lead, err := findLeaders(ctx, svc)
	if err != nil {
		return nil, err
	}
	messages := []message{}
	for it, err := range svc.Export(ctx) {
		if err != nil {
			return nil, err
		}
		if len(types) == 0 || slices.Contains(types, it.Type) {
			messages = append(messages, fromItem(&it.Message, everybodyRead(&it), lead))
		}
	}
	if limit > 0 && len(messages) > limit {
		messages = messages[len(messages)-limit:]
	}
	return messages, nil
}

// encodeAll writes messages as a JSON array, one per line.
func encodeAll(w io.Writer, messages []message) error {
	open := "[\n"
	for i := range messages {
		line, err := messages[i].encode()
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "%s%s", open, line); err != nil {
			return err
		}
		open = ",\n"
	}
	end := "\n]\n"
	if len(messages) == 0 {
		end = "[]\n"
	}
	_, err := io.WriteString(w, end)
	return err
}

// decodeAll parses encodeAll's output or the lines of a mailbox. bad counts elements that are not messages.
func decodeAll(text []byte) (items []mail.Item, bad int, err error) {
	var raw []jsonx.Value
	if strings.HasPrefix(strings.TrimSpace(string(text)), "[") {
		if err := jsonx.UnmarshalLenient(text, &raw); err != nil {
			return nil, 0, mail.Errorf(mail.Invalid, "not a list of messages: %s. Nothing was imported",
				jsonx.Explain(err))
		}
	} else {
		for line := range strings.Lines(string(text)) {
			if strings.TrimSpace(line) != "" {
				raw = append(raw, jsonx.Value(line))
			}
		}
	}
	for _, line := range raw {
		it, err := translate(line)
		if err != nil {
			bad++
			continue
		}
		items = append(items, it)
	}
	return items, bad, nil
}

// timeline writes messages for people and models. Every line of foreign text has a mark before it, so that none
// passes for one of ours.
func timeline(w io.Writer, messages []message) error {
	var b strings.Builder
	for i := range messages {
		m := &messages[i]
		state := "unread"
		if m.Read {
			state = "read"
		}
		fmt.Fprintf(&b, "%s  %s  %s → %s  %s, %s\n", m.CreatedAt, m.Type, plain(m.From), plain(m.To), plain(m.ID),
			state)
		if m.Subject != "" {
			fmt.Fprintf(&b, "> Subject: %s\n", plain(m.Subject))
		}
		for line := range strings.SplitSeq(unixLines(m.Body), "\n") {
			fmt.Fprintf(&b, "> %s\n", plain(line))
		}
		b.WriteString("\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// unixLines turns every kind of line end into a newline.
func unixLines(s string) string {
	return strings.NewReplacer("\r\n", "\n", "\r", "\n", "\v", "\n", "\f", "\n", "\u0085", "\n", "\u2028", "\n",
		"\u2029", "\n").Replace(s)
}

// plain turns foreign text into one line without control characters for a terminal.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return r
		case unicode.IsControl(r), r >= '\u2028' && r <= '\u202e', r >= '\u2066' && r <= '\u2069':
			return unicode.ReplacementChar
		}
		return r
	}, s)
}

package demoday

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
)

// step is one thing that somebody does in a story. In a script it is a line, which for mail is followed by subject,
// empty line and body:
//
//	@@ [-DAYS] HH:MM WHO[,WHO] VERB [WORD...]
//	@@ [-DAYS] HH:MM WHO > ADDRESS[,ADDRESS] TYPE [KEY=VALUE...] [FLAG...]
type step struct {
	day   int           // 0 is the day itself, -1 the day before
	clock time.Duration // of the story, since midnight
	who   []mail.Name
	verb  string // ">" sends
	args  []string

	draft  mail.Draft // of mail; ReplyTo is a label
	label  string     // by which later steps speak of the message
	unread bool       // the person does not open it
}

// parse reads a script. What it refuses is a mistake of whoever wrote the story.
func parse(script string) ([]step, error) {
	var steps []step
	for i, text := range strings.Split("\n"+script, "\n@@ ")[1:] {
		s, err := parseStep(text)
		if err != nil {
			head, _, _ := strings.Cut(text, "\n")
			return nil, fmt.Errorf("step %d of the story, %q: %w", i+1, head, err)
		}
		steps = append(steps, s)
	}
	return steps, nil
}

func parseStep(text string) (s step, err error) {
	head, rest, _ := strings.Cut(text, "\n")
	words := strings.Fields(head)
	if len(words) > 0 && strings.HasPrefix(words[0], "-") {
		if s.day, err = strconv.Atoi(words[0]); err != nil {
			return s, err
		}
		words = words[1:]
	}
	if len(words) < 3 {
		return s, fmt.Errorf("too few words")
	}
	clock, err := time.Parse("15:04", words[0])
	if err != nil {
		return s, err
	}
	s.clock = clock.Sub(clock.Truncate(24 * time.Hour))
	for n := range strings.SplitSeq(words[1], ",") {
		s.who = append(s.who, mail.Name(n))
	}
	s.verb, s.args = words[2], words[3:]
	if s.verb == ">" {
		return s, s.mail(rest)
	}
	return s, nil
}

// mail reads what is to be sent.
func (s *step) mail(text string) error {
	if len(s.args) < 2 {
		return fmt.Errorf("mail needs an address and a type")
	}
	s.draft.To, s.draft.Type = strings.Split(s.args[0], ","), s.args[1]
	for _, word := range s.args[2:] {
		if err := s.attribute(word); err != nil {
			return err
		}
	}
	if options, ok := strings.CutPrefix(text, "@options "); ok {
		options, text, _ = strings.Cut(options, "\n")
		s.draft.Metadata = metadata("options", strings.Split(options, " | "))
	}
	s.draft.Subject, s.draft.Body, _ = strings.Cut(text, "\n")
	s.draft.Subject, s.draft.Body = strings.TrimSpace(s.draft.Subject), strings.TrimSpace(s.draft.Body)
	if s.draft.Body == "" {
		s.draft.Subject, s.draft.Body = "", s.draft.Subject
	}
	return nil
}

func (s *step) attribute(word string) error {
	key, value, _ := strings.Cut(word, "=")
	switch key {
	case "as":
		s.label = value
	case "re":
		s.draft.ReplyTo = mail.ID(value)
	case "issue":
		s.draft.Issue = value
	case "ttl":
		ttl, err := time.ParseDuration(value)
		s.draft.TTLSeconds = int64(ttl.Seconds())
		return err
	case "verdict":
		s.draft.Metadata = metadata(key, value)
	case "docs":
		for path := range strings.SplitSeq(value, ",") {
			s.draft.Docs = append(s.draft.Docs, mail.Doc{Path: path})
		}
	case "urgent":
		s.draft.Priority = string(mail.Urgent)
	case "unread":
		s.unread = true
	default:
		return fmt.Errorf("%q means nothing", word)
	}
	return nil
}

func metadata(key string, value any) mail.Metadata {
	raw, err := jsonx.Marshal(map[string]any{key: value})
	if err != nil {
		return nil // words and lists of words can be written
	}
	return raw
}

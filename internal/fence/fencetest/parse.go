// Package fencetest reads fenced mail as a model does, to test the code that renders it.
package fencetest

import (
	"fmt"
	"regexp"
	"strings"

	"pennypost/internal/mail"
)

var (
	notice    = regexp.MustCompile(`(?m)^Text between (mail-[a-z0-9]+) tags `)
	attribute = regexp.MustCompile(` ([a-z_]+)="([^"]*)"`)
)

// Letter is a message as an answer shows it.
type Letter struct {
	mail.Message
	Sent   string
	Origin string
	Docs   string
	Part   string // the attribute body: the part that is shown, or that none is
}

// Parse returns the letters of an answer, and the text outside them without the notice. An answer without a notice has
// no letters.
func Parse(text string) (letters []Letter, outside string, err error) {
	m := notice.FindStringSubmatch(text)
	if m == nil {
		return nil, text, nil
	}
	tag := m[1]
	_, rest, _ := strings.Cut(text, "\n")
	outside = text[:strings.Index(text, m[0])]
	for {
		before, after, found := strings.Cut(rest, "<"+tag)
		outside += before
		if !found {
			return letters, strings.TrimSpace(outside), nil
		}
		head, body, ok := strings.Cut(after, ">")
		body, rest, found = strings.Cut(body, "</"+tag+">")
		if !ok || !found {
			return nil, "", fmt.Errorf("a letter without an end: %s", after)
		}
		letters = append(letters, parse(head, strings.TrimSuffix(strings.TrimPrefix(body, "\n"), "\n")))
	}
}

// Unfenced returns the text in the fence of an answer that is a list, and all of an answer without a fence.
func Unfenced(text string) string {
	m := notice.FindStringSubmatch(text)
	if m == nil {
		return text
	}
	_, list, found := strings.Cut(text, "<"+m[1]+">\n")
	if !found { // letters, each in a fence with attributes
		return text
	}
	list, _, _ = strings.Cut(list, "\n</"+m[1]+">")
	return list
}

func parse(head, body string) Letter {
	a := make(map[string]string)
	for _, m := range attribute.FindAllStringSubmatch(head, -1) {
		a[m[1]] = m[2]
	}
	return Letter{
		Message: mail.Message{
			ID: mail.ID(a["id"]), Type: mail.Type(a["type"]), From: mail.Address(a["from"]), Subject: a["subject"],
			Body:     body,
			Priority: mail.Priority(a["priority"]), ReplyTo: mail.ID(a["reply_to"]), Issue: a["issue"],
		},
		Sent: a["sent"], Origin: a["origin"], Docs: a["docs"], Part: a["body"],
	}
}

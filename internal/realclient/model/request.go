package model

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"
)

// Role says who wrote a part of a conversation.
type Role string

const (
	System    Role = "system"
	User      Role = "user" // also text that a client adds as the user or the developer
	Assistant Role = "assistant"
	Result    Role = "result" // of a tool
)

// Part is one text of a conversation, decoded, as the model reads it.
type Part struct {
	Role Role
	Text string
}

// Tool is a tool that the client offers to the model.
type Tool struct {
	Name   string
	Schema map[string]any // of the input
	space  string
}

// Request is one request of a client for an answer of the model.
type Request struct {
	N      int // from 1, in order of arrival
	At     time.Time
	Path   string
	Header http.Header
	Body   json.RawMessage
	Parts  []Part // in order of the conversation
	Tools  []Tool
	Answer string // the model's answer, for people to read
	HungUp bool   // the client did not wait for the answer
}

// Text returns the model's whole input except the tools.
func (r *Request) Text() string {
	var b strings.Builder
	for _, p := range r.Parts {
		b.WriteString(p.Text)
		b.WriteByte('\n')
	}
	return b.String()
}

// Has reports whether the model reads a text, outside its own answers.
func (r *Request) Has(text string) bool { return r.Copies(text) > 0 }

// Copies counts a text in the model's input, except in its own answers.
func (r *Request) Copies(text string) int {
	n := 0
	for _, p := range r.Parts {
		if p.Role != Assistant {
			n += strings.Count(p.Text, text)
		}
	}
	return n
}

// Offers reports whether the client offers a tool whose name ends with name.
func (r *Request) Offers(name string) bool { return r.tool(name).Schema != nil }

// content returns the texts of a message's content, which is a string or a list of blocks.
func content(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var blocks []struct {
		Text    string          `json:"text"`
		Content json.RawMessage `json:"content"`
	}
	if json.Unmarshal(raw, &blocks) != nil {
		return string(raw)
	}
	var texts []string
	for _, b := range blocks {
		switch {
		case b.Text != "":
			texts = append(texts, b.Text)
		case b.Content != nil:
			texts = append(texts, content(b.Content))
		}
	}
	return strings.Join(texts, "\n")
}

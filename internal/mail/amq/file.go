package amq

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"unicode/utf8"

	"pennypost/internal/base/confined"
	"pennypost/internal/base/jsonx"
)

// MaxFile is the largest file, in bytes, that AMQ itself accepts as a message.
const MaxFile = 10 << 20

// header is AMQ's header, as documented in its message format, schema 1.
type header struct {
	Schema       int            `json:"schema"`
	ID           string         `json:"id"`
	From         string         `json:"from"`
	To           []string       `json:"to"`
	Thread       string         `json:"thread"`
	Subject      string         `json:"subject"`
	Created      string         `json:"created"`
	Refs         []string       `json:"refs"`
	Priority     string         `json:"priority"`
	Kind         string         `json:"kind"`
	Labels       []string       `json:"labels"`
	Context      map[string]any `json:"context"`
	ReplyTo      string         `json:"reply_to"`
	ReplyProject string         `json:"reply_project"`
	FromProject  string         `json:"from_project"`
}

type sum = [sha256.Size]byte

// readFile returns the content of the file at name, and a sum that identifies its copies.
func readFile(dir confined.Dir, name string) (h header, body string, is sum, err error) {
	file, err := dir.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return h, "", is, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, MaxFile+1))
	if err != nil {
		return h, "", is, err
	}
	if len(text) > MaxFile {
		return h, "", is, fmt.Errorf("larger than %d bytes, AMQ's own limit for a message", MaxFile)
	}
	text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	h, body, err = parse(text)
	return h, body, sha256.Sum256(text), err
}

// parse splits a file. No header line can be "---", because JSON strings have no line breaks.
func parse(text []byte) (h header, body string, err error) {
	rest, ok := bytes.CutPrefix(text, []byte("---json\n"))
	if !ok {
		return h, "", errors.New(`first line is not "---json"`)
	}
	object, after, ok := bytes.Cut(rest, []byte("\n---\n"))
	if !ok {
		return h, "", errors.New(`header has no end: the line "---" is missing`)
	}
	if err := jsonx.Unmarshal(object, &h); err != nil {
		return h, "", fmt.Errorf("invalid header: %s", jsonx.Explain(err))
	}
	if h.Schema != 1 {
		return h, "", fmt.Errorf("schema %d is not supported; only schema 1 is", h.Schema)
	}
	if !utf8.Valid(after) {
		return h, "", errors.New("text is not valid UTF-8")
	}
	return h, string(after), nil
}

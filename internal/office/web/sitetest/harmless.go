package sitetest

import (
	"fmt"
	"html"
	"regexp"
	"slices"
	"strings"
)

// Tag is an HTML tag with the text after it.
type Tag struct {
	Name  string
	End   bool
	Attrs map[string]string
	Text  string
}

var (
	tagName  = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9-]*`)
	tagAttr  = regexp.MustCompile(`^[ \n]+([a-zA-Z][a-zA-Z0-9:-]*)(?:="([^"]*)"|='([^'<>]*)')?`)
	tagClose = regexp.MustCompile(`^\s*/?>`)
)

// Scan parses HTML more strictly than a browser: every "<" begins a tag, attributes are quoted, and none is repeated.
func Scan(text string) ([]Tag, error) {
	var out []Tag
	text = strings.TrimPrefix(text, "<!doctype html>")
	for {
		before, rest, more := strings.Cut(text, "<")
		if strings.Contains(before, ">") && len(out) == 0 {
			return out, fmt.Errorf("a stray > in %q", before)
		}
		if len(out) > 0 {
			out[len(out)-1].Text = before
		}
		if !more {
			return out, nil
		}
		one := Tag{Attrs: make(map[string]string)}
		rest, one.End = strings.CutPrefix(rest, "/")
		one.Name = tagName.FindString(rest)
		if one.Name == "" || one.Name != strings.ToLower(one.Name) && one.Name != "clipPath" {
			return out, fmt.Errorf("a < that begins no tag: %.40q", rest)
		}
		rest = rest[len(one.Name):]
		for m := tagAttr.FindStringSubmatch(rest); m != nil; m = tagAttr.FindStringSubmatch(rest) {
			if _, twice := one.Attrs[m[1]]; twice {
				return out, fmt.Errorf("<%s> has %s twice", one.Name, m[1])
			}
			one.Attrs[m[1]] = html.UnescapeString(m[2] + m[3])
			rest = rest[len(m[0]):]
		}
		end := tagClose.FindString(rest)
		if end == "" {
			return out, fmt.Errorf("<%s is not closed: %.40q", one.Name, rest)
		}
		text = rest[len(end):]
		out = append(out, one)
	}
}

// allowed are the tags allowed in a body, with patterns for the values of their attributes.
var allowed = map[string]map[string]string{
	"p": auto, "br": nil, "h1": auto, "h2": auto, "h3": auto, "h4": auto, "h5": auto, "h6": auto, "em": nil,
	"strong": nil, "del": nil, "blockquote": auto, "ul": auto, "hr": nil,
	"li":    {"dir": "auto", "id": `note-[0-9a-f]{8}-fn:[0-9]+`},
	"table": nil, "thead": nil, "tbody": nil, "tr": nil,
	"ol": {"dir": "auto", "start": `[0-9]+`},
	"th": {"dir": "auto", "align": "left|right|center"}, "td": {"dir": "auto", "align": "left|right|center"},
	"pre":    nil,
	"code":   {"class": `language-(?s:.+)`},
	"input":  {"type": "checkbox", "checked": "", "disabled": "", "aria-label": "to do|done"},
	"sup":    {"id": `note-[0-9a-f]{8}-fnref[0-9]*:[0-9]+`},
	"div":    {"class": "footnotes|code-block", "role": "doc-endnotes"},
	"button": {"type": "button", "class": "copy", "data-copy": ""},
	"span":   {"class": "hidden"},
	"a": {"href": `(?i:https?://[^/?#\s\\]|mailto:)[^\s[:cntrl:]]*|#note-[0-9a-f]{8}-fn(?:ref[0-9]*)?:[0-9]+`,
		"target": "_blank", "rel": "noopener noreferrer nofollow",
		"class": "footnote-(?:back)?ref", "role": "doc-(?:noteref|backlink)"},
}

var auto = map[string]string{"dir": "auto"}

// Harmless returns an error unless a body has only allowed tags and attributes, properly nested, and links only to
// the web and to mail addresses.
func Harmless(out string) error {
	tags, err := Scan(out)
	if err != nil {
		return err
	}
	var open []string
	for _, one := range tags {
		attrs, known := allowed[one.Name]
		if !known {
			return fmt.Errorf("<%s> is not allowed", one.Name)
		}
		for name, value := range one.Attrs {
			want, known := attrs[name]
			if !known || !regexp.MustCompile(`^(?:`+want+`)$`).MatchString(value) {
				return fmt.Errorf("<%s %s=%q> is not allowed", one.Name, name, value)
			}
		}
		switch {
		case slices.Contains([]string{"br", "hr", "input"}, one.Name):
		case !one.End:
			if one.Name == "a" && slices.Contains(open, "a") {
				return fmt.Errorf("a link in a link")
			}
			open = append(open, one.Name)
		case len(open) == 0 || open[len(open)-1] != one.Name:
			return fmt.Errorf("</%s> closes nothing: open is %v", one.Name, open)
		default:
			open = open[:len(open)-1]
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("%v are not closed", open)
	}
	return nil
}

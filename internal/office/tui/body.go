package tui

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

var (
	heading = regexp.MustCompile(`^ {0,3}#{1,6} +(.*?)(?: +#+)?$`)
	bullet  = regexp.MustCompile(`^( *)(?:[-*+]|(\d{1,9}[.)])) +(?:\[([ xX])\] +)?`)
	quoted  = regexp.MustCompile(`^ {0,3}((?:> ?)+)`)
	fence   = regexp.MustCompile("^ {0,3}(```+|~~~+)")
	link    = regexp.MustCompile(`!?\[([^\[\]]+)\]\(<?([^()<>\s]+)>?(?: +"[^"]*")?\)`)
	marked  = regexp.MustCompile("`[^`]+`|\\*\\*[^*]+\\*\\*|__[^_]+__|\\*[^*\\s](?:[^*]*[^*\\s])?\\*")
)

// body renders a message's text in lines of a width. It supports the Markdown that a terminal can show: bold headings
// and strong words, hanging lists, indented code, and links with their address after the words. Line breaks are kept,
// as on the pages.
func body(text string, width int) []line {
	var out []line
	fenced := ""
	for raw := range strings.SplitSeq(strings.TrimRight(clean(text), "\n "), "\n") {
		mark := fence.FindStringSubmatch(raw)
		switch {
		case fenced != "" && mark != nil && strings.HasPrefix(mark[1], fenced):
			fenced = ""
		case fenced != "":
			out = append(out, hung("    ", "    ", cells(raw, 0), width)...)
		case mark != nil:
			fenced = mark[1]
		default:
			out = append(out, prose(raw, width)...)
		}
	}
	return out
}

// prose renders a line of Markdown outside code.
func prose(raw string, width int) []line {
	if m := heading.FindStringSubmatch(raw); m != nil {
		text := inline(m[1])
		for i := range text {
			text[i].style = bold
		}
		return hung("", "", text, width)
	}
	if m := quoted.FindString(raw); m != "" {
		bar := strings.Repeat("│ ", strings.Count(m, ">"))
		return hung(bar, bar, inline(raw[len(m):]), width)
	}
	if m := bullet.FindStringSubmatch(raw); m != nil {
		sign := "•"
		switch {
		case m[2] != "":
			sign = m[2]
		case m[3] == " ":
			sign = "☐"
		case m[3] != "":
			sign = "☑"
		}
		first := m[1] + sign + " "
		return hung(first, strings.Repeat(" ", columns(first)), inline(raw[len(m[0]):]), width)
	}
	indent := raw[:len(raw)-len(strings.TrimLeft(raw, " "))]
	return hung(indent, indent, inline(raw[len(indent):]), width)
}

// links puts the address of a link after its words.
func links(s string) string { return link.ReplaceAllString(s, "$1 ($2)") }

// inline renders strong words in bold, and removes their marks and those of emphasis and code.
func inline(s string) []cell {
	s = links(s)
	var out []cell
	at := 0
	for _, m := range marked.FindAllStringIndex(s, -1) {
		word := s[m[0]:m[1]]
		before, _ := utf8.DecodeLastRuneInString(s[:m[0]])
		if word[0] != '`' && (unicode.IsLetter(before) || unicode.IsDigit(before)) {
			continue // 2*3*4
		}
		mark, st := word[:1], style(0)
		if strings.HasPrefix(word, "**") || word[0] == '_' {
			mark, st = word[:2], bold
		}
		out = append(out, cells(s[at:m[0]], 0)...)
		out = append(out, cells(strings.TrimSuffix(strings.TrimPrefix(word, mark), mark), st)...)
		at = m[1]
	}
	return append(out, cells(s[at:], 0)...)
}

// hung wraps text after a prefix for the first line and one for the others.
func hung(first, rest string, text []cell, width int) []line {
	if columns(first) > width/2 {
		first, rest = "", "" // too deep to leave room for text
	}
	var out []line
	before := first
	for _, at := range wrap(text, width-columns(first)) {
		l := lineOf(text[at[0]:at[1]])
		if before != "" {
			l = append(line{{text: before}}, l...)
		}
		out, before = append(out, l), rest
	}
	return out
}

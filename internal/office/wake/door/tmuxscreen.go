package door

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// line is a line of a terminal screen.
type line []cell

// cell is a character with the attributes that distinguish a placeholder from text.
type cell struct {
	char           rune
	faint, reverse bool
}

// parseScreen parses the output of capture-pane -e: text with escape sequences that set attributes, which persist
// across lines.
func parseScreen(s string) []line {
	var (
		lines []line
		now   line
		pen   cell
	)
	for len(s) > 0 {
		if s[0] == 0x1b {
			var codes string
			var isSGR bool
			codes, isSGR, s = cutEscape(s[1:])
			if isSGR {
				pen.set(codes)
			}
			continue
		}
		r, size := utf8.DecodeRuneInString(s)
		s = s[size:]
		switch {
		case r == '\n':
			lines, now = append(lines, now), nil
		case r >= ' ':
			now = append(now, cell{r, pen.faint, pen.reverse})
		}
	}
	return append(lines, now)
}

// cutEscape cuts one control sequence, without its escape character, off s.
func cutEscape(s string) (codes string, isSGR bool, rest string) {
	switch {
	case strings.HasPrefix(s, "["):
		end := strings.IndexFunc(s[1:], func(r rune) bool { return r >= '@' && r <= '~' })
		if end < 0 {
			return "", false, ""
		}
		return s[1 : 1+end], s[1+end] == 'm', s[2+end:]
	case strings.HasPrefix(s, "]"):
		end := strings.IndexAny(s, "\a\x1b")
		if end < 0 {
			return "", false, ""
		}
		return "", false, strings.TrimPrefix(s[end+1:], `\`)
	case s == "":
		return "", false, ""
	}
	return "", false, s[1:]
}

// set applies attributes (SGR, ECMA-48 8.3.117).
func (pen *cell) set(codes string) {
	list := strings.Split(codes, ";")
	for i := 0; i < len(list); i++ {
		switch n, _ := strconv.Atoi(list[i]); {
		case list[i] == "" || list[i] == "0":
			pen.faint, pen.reverse = false, false
		case n == 2:
			pen.faint = true
		case n == 22:
			pen.faint = false
		case n == 7:
			pen.reverse = true
		case n == 27:
			pen.reverse = false
		case (n == 38 || n == 48 || n == 58) && i+1 < len(list) && list[i+1] == "5": // a palette colour
			i += 2
		case (n == 38 || n == 48 || n == 58) && i+1 < len(list): // red, green and blue
			i += 4
		}
	}
}

// String returns the text of a line without leading and trailing blanks.
func (l line) String() string {
	var b strings.Builder
	for _, c := range l {
		b.WriteRune(c.char)
	}
	return strings.TrimSpace(b.String())
}

// written returns the typed text of a line: everything except faint text, which is a placeholder or a suggestion. The
// cursor may be drawn on the first character of that.
func (l line) written() string {
	for len(l) > 0 && blank(l[0].char) {
		l = l[1:]
	}
	if len(l) > 1 && l[0].reverse && !l[0].faint && l[1].faint {
		l = l[1:]
	}
	return slices.DeleteFunc(slices.Clone(l), func(c cell) bool { return c.faint }).String()
}

func blank(r rune) bool { return r == ' ' || r == '\u00a0' }

// sign returns the first non-blank character of a line and the rest; 0: there is none.
func (l line) sign() (rune, line) {
	for i, c := range l {
		if !blank(c.char) {
			return c.char, l[i+1:]
		}
	}
	return 0, nil
}

// hints, in lower case, appear on screens that expect something other than the user's next prompt. A model's output
// may contain them too: then we wait until it has scrolled away.
var hints = [...]string{
	"do you want to proceed", "do you want to make", "do you want to create", "do you want to allow",
	"would you like to proceed", "do you trust", "esc to", "enter to", "press enter", "press any key", "press return",
	"(y/n)", "[y/n]", "yes/no", "ctrl+c again", "ctrl-c again",
	"❯ 1.", "❯ 2.", "› 1.", "› 2.", "● 1.", "● 2.", "> 1.", "> 2.",
}

// dialog returns the hint that a screen waits for an answer, or that a turn is running; "" if there is none.
func dialog(client string, screen []line) string {
	for _, l := range screen {
		text := strings.ToLower(l.String())
		for _, hint := range hints {
			if strings.Contains(text, hint) {
				return hint
			}
		}
		// Codex asks there; Claude Code only mentions it
		if client == "codex" && strings.Contains(text, "update available!") {
			return "update available!"
		}
	}
	return ""
}

// promptLines is the maximum height of a prompt.
const promptLines = 8

// look describes how a client draws its prompt.
type look struct {
	signs string          // the characters that can begin the prompt
	shell rune            // begins a shell prompt, where nothing must be typed; 0: none
	above func(line) bool // matches the line above it
	below func(line) bool // matches the line below it
	scrub func(line) string
	live  int // how many lines above the prompt are current; those further up are history. 0: all are
}

func looks() map[string]look {
	return map[string]look{
		// between two rules; the upper one may have a title
		"claude": {signs: "❯", above: isRule, below: isRule, scrub: line.written},
		// dialogs replace the prompt
		"copilot": {signs: "❯", above: isRule, below: isRule, scrub: line.written, live: 4},
		"codex":   {signs: "›", above: isEmpty, below: isEmpty, scrub: line.written},
		// * in the mode without permission prompts; dialogs replace the prompt
		"gemini": {signs: ">*", shell: '!', above: isBorder, below: isBorder, scrub: geminiWritten, live: 4},
		"qwen":   {signs: ">*", shell: '!', above: isRule, below: isRule, scrub: geminiWritten, live: 4},
	}
}

// promptOf returns the text typed into a client's prompt, and the current part of the screen. It is not ok if there is
// no prompt that looks exactly as we know it: then the whole screen is current.
func promptOf(client string, screen []line) (typed string, live []line, ok bool) {
	c := looks()[client]
	for i := len(screen) - 1; i > 0; i-- {
		sign, first := unframed(screen[i]).sign()
		if sign == 0 || sign != c.shell && !strings.ContainsRune(c.signs, sign) {
			continue
		}
		if sign == c.shell || !c.above(screen[i-1]) {
			break
		}
		typed = c.scrub(first)
		for _, l := range screen[i+1 : min(len(screen), i+promptLines)] {
			if !c.below(l) {
				typed += " " + c.scrub(unframed(l))
				continue
			}
			if c.live > 0 {
				live = screen[max(0, i-c.live):]
			} else {
				live = screen
			}
			return strings.TrimSpace(typed), live, true
		}
		break
	}
	return "", screen, false
}

func isEmpty(l line) bool { return l.String() == "" }

// isRule reports whether a line is a horizontal rule, possibly with a title.
func isRule(l line) bool { return strings.HasPrefix(l.String(), "───") }

// isBorder reports whether a line is an edge of a box; Gemini CLI draws several kinds.
func isBorder(l line) bool {
	s := l.String()
	for _, edge := range []string{"───", "╭──", "╰──", "▀▀▀", "▄▄▄"} {
		if strings.HasPrefix(s, edge) {
			return true
		}
	}
	return false
}

// unframed removes the sides of a box.
func unframed(l line) line {
	for len(l) > 0 && blank(l[0].char) {
		l = l[1:]
	}
	for len(l) > 0 && blank(l[len(l)-1].char) {
		l = l[:len(l)-1]
	}
	if len(l) > 1 && l[0].char == '│' && l[len(l)-1].char == '│' {
		return l[1 : len(l)-1]
	}
	return l
}

// geminiWritten recognises the placeholder of Gemini CLI and Qwen Code by its text: it is grey, not faint.
func geminiWritten(l line) string {
	text := strings.ReplaceAll(l.written(), "\u200b", "") // Qwen Code's cursor
	if strings.TrimSpace(text) == "Type your message or @path/to/file" {
		return ""
	}
	return text
}

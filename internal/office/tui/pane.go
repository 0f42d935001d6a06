package tui

import (
	"slices"
	"strings"
)

// pane is a scrollable list.
type pane[T any] struct {
	key   func(*T) string   // identifies a row
	texts func(*T) []string // searched by the filter

	all    []T // as far as it has been scrolled
	words  string
	rows   []T // the rows of all that match words
	loaded bool
	cursor int
	top    int // the first row on the screen
	fresh  int // new rows above the screen
}

// current returns the row under the cursor.
func (p *pane[T]) current() *T {
	if p.cursor >= len(p.rows) {
		return nil
	}
	return &p.rows[p.cursor]
}

// at returns the index of a row, or -1.
func (p *pane[T]) at(key string) int {
	return slices.IndexFunc(p.rows, func(row T) bool { return p.key(&row) == key })
}

// move moves the cursor by n rows, and keeps it on a screen of that many rows.
func (p *pane[T]) move(n, screen int) {
	p.cursor = max(0, p.cursor+n)
	p.settle(screen)
}

// settle keeps the cursor on the screen.
func (p *pane[T]) settle(screen int) {
	p.cursor = min(p.cursor, max(0, len(p.rows)-1))
	p.top = min(max(p.top, p.cursor-screen+1), p.cursor)
	p.fresh = min(p.fresh, p.top)
}

// upwards scrolls so that as many rows as possible above the cursor are on the screen.
func (p *pane[T]) upwards(screen int) {
	p.top = max(0, p.cursor-screen+1)
	p.settle(screen)
}

// filter keeps the rows that match words.
func (p *pane[T]) filter(words string) {
	p.words = words
	p.rows = p.all
	if words != "" {
		p.rows = slices.DeleteFunc(slices.Clone(p.all), func(row T) bool { return !fits(words, p.texts(&row)...) })
	}
	p.cursor = min(p.cursor, max(0, len(p.rows)-1))
}

// fits reports whether a row contains all words.
func fits(words string, texts ...string) bool {
	all := strings.ToLower(strings.Join(texts, "\n"))
	for w := range strings.FieldsSeq(strings.ToLower(words)) {
		if !strings.Contains(all, w) {
			return false
		}
	}
	return true
}

// refresh replaces the rows. The row under the cursor keeps its place on the screen; new rows above the screen are
// counted.
func (p *pane[T]) refresh(rows []T, screen int) {
	known := p.keys(p.all)
	var under string
	if row := p.current(); row != nil {
		under = p.key(row)
	}
	above, first := p.cursor-p.top, !p.loaded
	p.all, p.loaded = rows, true
	p.filter(p.words)
	if at := p.at(under); at >= 0 {
		p.cursor, p.top = at, max(0, at-above)
	}
	if !first {
		for i := range p.rows[:min(p.top, len(p.rows))] {
			if !known[p.key(&p.rows[i])] {
				p.fresh++
			}
		}
	}
	p.settle(screen)
}

func (p *pane[T]) keys(rows []T) map[string]bool {
	out := make(map[string]bool, len(rows))
	for i := range rows {
		out[p.key(&rows[i])] = true
	}
	return out
}

// remove removes a row; the cursor moves to the next.
func (p *pane[T]) remove(key string, screen int) {
	at := p.at(key)
	p.all = slices.DeleteFunc(slices.Clone(p.all), func(row T) bool { return p.key(&row) == key })
	p.filter(p.words)
	if at >= 0 && at < p.cursor {
		p.cursor--
	}
	p.settle(screen)
}

// steps returns how far a key scrolls, with screen rows visible.
func steps(k string, screen int) (n int, ok bool) {
	const far = 1 << 30
	n, ok = map[string]int{
		"j": 1, "down": 1, "k": -1, "up": -1, " ": screen, "space": screen, "pgdn": screen, "ctrl+d": screen,
		"pgup": -screen, "ctrl+u": -screen, "g": -far, "home": -far, "G": far, "end": far,
	}[k]
	return n, ok
}

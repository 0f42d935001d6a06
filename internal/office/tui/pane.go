package tui

import (
	"slices"
	"strings"
)

// pane is a list, part of which is on the screen.
type pane[T any] struct {
	key   func(*T) string   // names a row
	texts func(*T) []string // are looked through for words

	all    []T // as far as it has been scrolled
	words  string
	rows   []T // those of them that fit the words
	loaded bool
	cursor int
	top    int // the first row on the screen
	fresh  int // of the rows above, how many have come since they were seen
}

// current returns the row under the cursor.
func (p *pane[T]) current() *T {
	if p.cursor >= len(p.rows) {
		return nil
	}
	return &p.rows[p.cursor]
}

// at returns where a row is, or -1.
func (p *pane[T]) at(key string) int {
	return slices.IndexFunc(p.rows, func(row T) bool { return p.key(&row) == key })
}

// move puts the cursor n rows on, and keeps it on a screen of that many rows.
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

// upwards shows as much of what stands above the cursor as fits on the screen.
func (p *pane[T]) upwards(screen int) {
	p.top = max(0, p.cursor-screen+1)
	p.settle(screen)
}

// filter leaves the rows that fit words.
func (p *pane[T]) filter(words string) {
	p.words = words
	p.rows = p.all
	if words != "" {
		p.rows = slices.DeleteFunc(slices.Clone(p.all), func(row T) bool { return !fits(words, p.texts(&row)...) })
	}
	p.cursor = min(p.cursor, max(0, len(p.rows)-1))
}

// fits reports whether all words stand somewhere in a row.
func fits(words string, texts ...string) bool {
	all := strings.ToLower(strings.Join(texts, "\n"))
	for w := range strings.FieldsSeq(strings.ToLower(words)) {
		if !strings.Contains(all, w) {
			return false
		}
	}
	return true
}

// refresh takes the rows as they are now. The row under the cursor stays where it is on the screen: what came before
// it is above the screen, and counted.
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

// remove takes a row away; the cursor goes to the next.
func (p *pane[T]) remove(key string, screen int) {
	at := p.at(key)
	p.all = slices.DeleteFunc(slices.Clone(p.all), func(row T) bool { return p.key(&row) == key })
	p.filter(p.words)
	if at >= 0 && at < p.cursor {
		p.cursor--
	}
	p.settle(screen)
}

// steps is how far a key goes in a text longer than the screen, which shows that many lines at once.
func steps(k string, screen int) (n int, ok bool) {
	const far = 1 << 30
	n, ok = map[string]int{
		"j": 1, "down": 1, "k": -1, "up": -1, " ": screen, "space": screen, "pgdn": screen, "ctrl+d": screen,
		"pgup": -screen, "ctrl+u": -screen, "g": -far, "home": -far, "G": far, "end": far,
	}[k]
	return n, ok
}

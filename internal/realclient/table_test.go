package realclient

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// page is the document with the table, between two marks.
const (
	page      = "../../docs/clients-evidence.md"
	tableFrom = "<!-- what ./test clients has seen -->\n"
	tableTo   = "<!-- end -->\n"
	// the promises of sends, written when all clients were tried
	promisesFrom = "<!-- what ./test clients has seen of promises -->\n"
	promisesTo   = "<!-- end of promises -->\n"
)

// no is the cell of a behaviour that does not hold.
const no = "✗"

// seen collects the results of this run.
var seen sightings

type sightings struct {
	mu    sync.Mutex
	cells map[[2]string]string // by row and client

	promises map[promiseKey]string
}

// note prints the result of a scenario and, with -update, writes it into the page, so that a stopped run has reported
// and left its results. Among several scenarios of one row, one that fails decides.
func (s *sightings) note(c client, v clientVersion, sc scenario, cell string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Printf("%s  %s %s: %s: %s\n", time.Now().Format(time.TimeOnly), c.title, v.version, sc.name, cell)
	if sc.row == "" {
		return nil
	}
	if s.cells == nil {
		s.cells = map[[2]string]string{}
	}
	s.cells[[2]string{"version", c.title}] = v.version
	s.cells[[2]string{"tried", c.title}] = time.Now().Format(time.DateOnly)
	if at := [2]string{sc.row, c.title}; s.cells[at] != no {
		s.cells[at] = cell
	}
	if !*update {
		return nil
	}
	return s.write()
}

// rows are the rows of the table.
func rows() []string {
	out := []string{"version", "tried"}
	for _, s := range scenarios() {
		if s.row != "" && !slices.Contains(out, s.row) {
			out = append(out, s.row)
		}
	}
	return out
}

// write writes the results into the page. Cells that this run did not try stay, except those of another version. s.mu
// is held.
func (s *sightings) write() error {
	raw, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(raw), tableFrom)
	old, after, ok2 := strings.Cut(rest, tableTo)
	if !ok || !ok2 {
		return fmt.Errorf("%s has no table between %q and %q", page, tableFrom, tableTo)
	}
	cells := readTable(old)
	maps.DeleteFunc(cells, func(at [2]string, _ string) bool {
		is, tried := s.cells[[2]string{"version", at[1]}]
		return tried && cells[[2]string{"version", at[1]}] != is
	})
	maps.Copy(cells, s.cells)
	text := before + tableFrom + table(cells) + tableTo + after
	if s.allPromise() {
		before, rest, ok := strings.Cut(text, promisesFrom)
		_, after, ok2 := strings.Cut(rest, promisesTo)
		if !ok || !ok2 {
			return fmt.Errorf("%s has no table between %q and %q", page, promisesFrom, promisesTo)
		}
		text = before + promisesFrom + promiseTable(s.promises) + promisesTo + after
	}
	return os.WriteFile(page, []byte(text), 0o644)
}

// readTable returns the cells of a table.
func readTable(text string) map[[2]string]string {
	cells := map[[2]string]string{}
	var titles []string
	for line := range strings.Lines(text) {
		f := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range f {
			f[i] = strings.TrimSpace(f[i])
		}
		switch {
		case len(f) < 2 || strings.HasPrefix(f[0], "--"):
		case titles == nil:
			titles = f
		default:
			for i := 1; i < min(len(f), len(titles)); i++ {
				cells[[2]string{f[0], titles[i]}] = f[i]
			}
		}
	}
	return cells
}

// table draws the cells.
func table(cells map[[2]string]string) string {
	head := []string{""}
	for _, c := range clients() {
		head = append(head, c.title)
	}
	return drawTable(head, rows(), cells)
}

// drawTable draws cells, by row and column head. A missing cell was not tried.
func drawTable(head, rows []string, cells map[[2]string]string) string {
	lines := [][]string{head}
	for _, row := range rows {
		line := []string{row}
		for _, title := range head[1:] {
			cell := cells[[2]string{row, title}]
			if cell == "" {
				cell = "○"
			}
			line = append(line, cell)
		}
		lines = append(lines, line)
	}
	var b strings.Builder
	for i, line := range lines {
		b.WriteString("| " + strings.Join(line, " | ") + " |\n")
		if i == 0 {
			b.WriteString("|" + strings.Repeat("---|", len(head)) + "\n")
		}
	}
	return b.String()
}

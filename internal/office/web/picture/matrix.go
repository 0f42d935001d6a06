package picture

import (
	"cmp"
	"math"
	"slices"

	"pennypost/internal/mail"
)

const (
	MatrixFrom  = 8  // from this many agents on, arrows cross everywhere
	matrixNames = 40 // names in a matrix
	heats       = 5  // shades of a cell
)

// matrix is how much each sender (row) wrote to each reader (column); both have the same order.
type matrix struct {
	Names  []mail.Name
	Rows   []matrixRow
	Got    []int // messages received, in the order of Names
	Others int   // names left out
}

// matrixRow is a sender.
type matrixRow struct {
	Name  mail.Name
	Cells []cell
	Sent  int
}

// cell is the mail from the row's sender to the column's reader.
type cell struct {
	Pair
	Heat int // relative volume from 1 to heats; 0: none
}

// Self reports whether it is an agent's mail to itself.
func (c cell) Self() bool { return c.From == c.To }

// newMatrix lists the user first and then the busiest agents in natural order.
func newMatrix(pairs []Pair) matrix {
	var m matrix
	m.Names, m.Others = busiest(pairs, matrixNames)
	at := make(map[mail.Name]int)
	for i, n := range m.Names {
		at[n] = i
		row := matrixRow{Name: n}
		for _, to := range m.Names {
			row.Cells = append(row.Cells, cell{Pair: Pair{From: n, To: to}})
		}
		m.Rows = append(m.Rows, row)
	}
	m.Got = make([]int, len(m.Names))
	most := 1
	for _, p := range pairs {
		most = max(most, p.Count)
	}
	for _, p := range pairs {
		from, sends := at[p.From]
		to, gets := at[p.To]
		if !sends || !gets {
			continue
		}
		heat := math.Ceil(heats * math.Sqrt(float64(p.Count)/float64(most)))
		m.Rows[from].Cells[to] = cell{p, int(heat)}
		m.Rows[from].Sent += p.Count
		m.Got[to] += p.Count
	}
	return m
}

// busiest returns the names of at most that many of the busiest parties, and how many are left out.
func busiest(pairs []Pair, most int) ([]mail.Name, int) {
	all := partiesOf(pairs)
	others := max(0, len(all)-most)
	all = all[:len(all)-others]
	slices.SortFunc(all, func(a, b party) int {
		return cmp.Or(a.after()-b.after(), mail.CompareNames(a.Name, b.Name))
	})
	names := make([]mail.Name, len(all))
	for i, p := range all {
		names[i] = p.Name
	}
	return names, others
}

// agentsIn counts the parties without the user.
func agentsIn(pairs []Pair) int {
	n := 0
	for _, p := range partiesOf(pairs) {
		n += p.after()
	}
	return n
}

package picture

import (
	"cmp"
	"math"
	"slices"

	"pennypost/internal/mail"
)

const (
	MatrixFrom  = 8  // agents: arrows between so many cross each other everywhere
	matrixNames = 40 // that a matrix has
	heats       = 5  // shades of a cell
)

// matrix is who wrote how much to whom: senders are rows, readers are columns, both in the same order.
type matrix struct {
	Names  []mail.Name
	Rows   []matrixRow
	Got    []int // how much each has received, in the order of Names
	Others int   // names for which there was no room
}

// matrixRow is a sender.
type matrixRow struct {
	Name  mail.Name
	Cells []cell
	Sent  int
}

// cell is what the row's sender wrote to the column's reader.
type cell struct {
	Pair
	Heat int // from 1 to heats: how much that is among all; 0: nothing
}

// Self reports whether it is what somebody wrote to itself.
func (c cell) Self() bool { return c.From == c.To }

// newMatrix has the user first and then, in natural order, those who wrote and received most.
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

// busiest returns at most that many of those who wrote or received anything, and how many others there are.
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

// agentsIn counts who wrote or received anything, without the user.
func agentsIn(pairs []Pair) int {
	n := 0
	for _, p := range partiesOf(pairs) {
		n += p.after()
	}
	return n
}

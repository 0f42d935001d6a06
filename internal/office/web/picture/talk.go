package picture

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"pennypost/internal/mail"
)

// Talk is a picture of who talks to whom.
type Talk struct {
	Width, Height int
	Nodes         []node
	Edges         []edge  // widest first
	Pairs         []Pair  // all, busiest first
	Matrix        *matrix // replaces nodes and edges if there are many agents
}

// node is an agent.
type node struct {
	party
	Label, Anchor string
	X, Y          int
	LabelX        int
	LabelY        int
}

// party is a sender or reader with its counts.
type party struct {
	Name      mail.Name
	Sent, Got int
}

// after is 0 for the user, who sorts first, and 1 for agents.
func (p party) after() int {
	if p.Name == mail.User {
		return 0
	}
	return 1
}

// partiesOf returns all parties: the user first, then the busiest.
func partiesOf(pairs []Pair) []party {
	at := make(map[mail.Name]int)
	var all []party
	of := func(n mail.Name) *party {
		i, known := at[n]
		if !known {
			i, at[n], all = len(all), len(all), append(all, party{Name: n})
		}
		return &all[i]
	}
	for _, p := range pairs {
		of(p.From).Sent += p.Count
		of(p.To).Got += p.Count
	}
	slices.SortStableFunc(all, func(a, b party) int {
		return cmp.Or(a.after()-b.after(), b.Sent+b.Got-a.Sent-a.Got)
	})
	return all
}

// Pair counts the mail from one party to another.
type Pair struct {
	From, To    mail.Name
	Count, Read int
}

// tablePairs limits the pairs in the table beside the picture.
const tablePairs = 100

// Busiest are the pairs of the table.
func (w *Talk) Busiest() []Pair { return w.Pairs[:min(len(w.Pairs), tablePairs)] }

// Rest is how many pairs the table lacks.
func (w *Talk) Rest() int { return len(w.Pairs) - len(w.Busiest()) }

// TextY is the baseline of its initials.
func (n node) TextY() int { return n.Y + 4 }

// edge is a pair in the picture.
type edge struct {
	Pair
	Path, Head string
	Width      string
	X, Y       int  // of the number
	Numbered   bool // the number fits
}

const (
	webWidth, webHeight = 680, 560
	nodeSize            = 22 // radius
	numberHeight        = 16
)

// PairsOf counts mail by sender and actual recipient.
func PairsOf(items []mail.Item) []Pair {
	at := make(map[[2]mail.Name]int)
	var out []Pair
	for i := range items {
		for _, d := range items[i].Deliveries {
			if d.Agent == "" {
				continue
			}
			key := [2]mail.Name{items[i].From.Signer(), d.Agent}
			n, ok := at[key]
			if !ok {
				n = len(out)
				at[key] = n
				out = append(out, Pair{From: key[0], To: key[1]})
			}
			out[n].Count++
			if d.State == mail.Read || d.State == mail.Archived {
				out[n].Read++
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Pair) int { return b.Count - a.Count })
	return out
}

// NewTalk places the parties on a ring, with the user at the top, and draws their mail; for many agents it makes a
// matrix.
func NewTalk(items []mail.Item) Talk {
	w := Talk{Width: webWidth, Height: webHeight, Pairs: PairsOf(items)}
	if agentsIn(w.Pairs) >= MatrixFrom {
		m := newMatrix(w.Pairs)
		w.Matrix = &m
		return w
	}
	w.place()
	where := make(map[mail.Name]*node)
	for i := range w.Nodes {
		where[w.Nodes[i].Name] = &w.Nodes[i]
	}
	var taken []box4
	for i := range w.Nodes {
		taken = append(taken, w.Nodes[i].box())
	}
	most := 1
	if len(w.Pairs) > 0 {
		most = w.Pairs[0].Count
	}
	for _, p := range w.Pairs {
		from, to := where[p.From], where[p.To]
		if from == nil || to == nil || from == to {
			continue
		}
		e := newEdge(p, from, to, most)
		taken = e.number(from, to, taken)
		w.Edges = append(w.Edges, e)
	}
	return w
}

// place places the parties on the ring, busiest first.
func (w *Talk) place() {
	all := partiesOf(w.Pairs)
	for i, p := range all {
		n := node{party: p}
		angle := 2*math.Pi*float64(i)/float64(len(all)) - math.Pi/2
		x, y := math.Cos(angle), math.Sin(angle)
		n.X, n.Y = webWidth/2+int(x*200), webHeight/2+int(y*205)
		n.LabelX, n.LabelY, n.Anchor = n.X, n.Y+nodeSize+16, "middle"
		switch {
		case x > .2:
			n.LabelX, n.LabelY, n.Anchor = n.X+nodeSize+8, n.Y+4, "start"
		case x < -.2:
			n.LabelX, n.LabelY, n.Anchor = n.X-nodeSize-8, n.Y+4, "end"
		case y < 0:
			n.LabelY = n.Y - nodeSize - 8
		}
		n.Label = fit(string(n.Name), 108, 12.5)
		w.Nodes = append(w.Nodes, n)
	}
}

// box4 is a covered area: left, top, right, bottom.
type box4 [4]int

func (b box4) touches(o box4) bool { return b[0] < o[2] && o[0] < b[2] && b[1] < o[3] && o[1] < b[3] }

func (n *node) box() box4 {
	return box4{n.X - nodeSize, n.Y - nodeSize, n.X + nodeSize, n.Y + nodeSize}
}

// newEdge draws a line that bends to its right, so that opposite edges lie side by side.
func newEdge(p Pair, from, to *node, most int) edge {
	dx, dy := float64(to.X-from.X), float64(to.Y-from.Y)
	long := math.Hypot(dx, dy)
	cx, cy := bend(from, to)
	width := 1.5 + 6.5*math.Sqrt(float64(p.Count)/float64(most))
	e := edge{Pair: p, Width: strconv.FormatFloat(width, 'f', 1, 64)}
	x1, y1 := toward(from, cx, cy, nodeSize+2)
	tipX, tipY := toward(to, cx, cy, nodeSize+3)
	x2, y2 := toward(to, cx, cy, nodeSize+3+8+width/2)
	e.Path = "M" + num(x1) + " " + num(y1) + "Q" + num(cx) + " " + num(cy) + " " + num(x2) + " " + num(y2)
	if long == 0 {
		return e
	}
	// The head is a triangle at the end of the line.
	ux, uy := tipX-x2, tipY-y2
	l := math.Hypot(ux, uy)
	ux, uy = ux/l, uy/l
	half := 4 + width/2
	e.Head = "M" + num(tipX) + " " + num(tipY) + "L" + num(x2-uy*half) + " " + num(y2+ux*half) + "L" +
		num(x2+uy*half) + " " + num(y2-ux*half) + "z"
	return e
}

// bend is the control point of the curve between two nodes.
func bend(from, to *node) (x, y float64) {
	dx, dy := float64(to.X-from.X), float64(to.Y-from.Y)
	return float64(from.X+to.X)/2 - dy*.16, float64(from.Y+to.Y)/2 + dx*.16
}

// toward is the point at a distance from a node in the direction of another point.
func toward(n *node, x, y, distance float64) (float64, float64) {
	dx, dy := x-float64(n.X), y-float64(n.Y)
	l := math.Hypot(dx, dy)
	return float64(n.X) + dx/l*distance, float64(n.Y) + dy/l*distance
}

func num(f float64) string { return strconv.FormatFloat(f, 'f', 1, 64) }

// number places the edge's number on its line where it covers nothing, if possible.
func (e *edge) number(from, to *node, taken []box4) []box4 {
	cx, cy := bend(from, to)
	wide := e.NumberWidth()
	for _, t := range []float64{.42, .5, .34, .58, .28, .66, .74, .22} {
		x := (1-t)*(1-t)*float64(from.X) + 2*t*(1-t)*cx + t*t*float64(to.X)
		y := (1-t)*(1-t)*float64(from.Y) + 2*t*(1-t)*cy + t*t*float64(to.Y)
		b := box4{int(x) - wide/2 - 1, int(y) - numberHeight/2 - 1, int(x) + wide/2 + 1, int(y) + numberHeight/2 + 1}
		if !slices.ContainsFunc(taken, b.touches) {
			e.X, e.Y, e.Numbered = int(x), int(y), true
			return append(taken, b)
		}
	}
	return taken
}

// TextY is the baseline of the number.
func (e edge) TextY() int { return e.Y + 4 }

// NumberWidth is the width of the number.
func (e edge) NumberWidth() int { return 10 + 8*len(strconv.Itoa(e.Count)) }

// NumberX is the left edge of the number's background.
func (e edge) NumberX() int { return e.X - e.NumberWidth()/2 }

// NumberY is the top edge of the number's background.
func (e edge) NumberY() int { return e.Y - numberHeight/2 }

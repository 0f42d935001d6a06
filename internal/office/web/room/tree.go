package room

import (
	"cmp"
	"slices"

	"pennypost/internal/mail"
	"pennypost/internal/office/web/waits"
	"pennypost/internal/office/web/words"
)

const (
	mostTree = 60 // lines of the tree
	alone    = 5  // of those who ask the same and are waited for by nobody
)

// waitNode is somebody who is waited for, and above whoever waits for them.
type waitNode struct {
	waits.Link // of which it is who waits; that of a root is one of those who wait for it
	Root       bool
	Circle     bool // its own wait leads back to it
	Below      []*waitNode
	Alone      int // how many more wait for it, for whom nobody waits
}

// Name is whose line it is.
func (n *waitNode) Name() mail.Address {
	if n.Root {
		return n.To()
	}
	return n.From()
}

// NameHref is their page.
func (n *waitNode) NameHref() string {
	if n.Root {
		return n.ToHref()
	}
	return n.FromHref()
}

// IsYou reports whether it is the user's line.
func (n *waitNode) IsYou() bool { return n.Root && n.Asked == mail.User }

// treeOf draws who waits for whom in several rooms. The roots are those who wait for nobody, the user first.
func treeOf(rooms []waits.InRoom) []waitNode {
	var you waitNode
	var out []waitNode
	for _, r := range rooms {
		for _, root := range rootsOf(r.Links) {
			if !root.IsYou() {
				out = append(out, root)
				continue
			}
			below := slices.Concat(you.Below, root.Below)
			you = root
			you.Below = below
		}
	}
	slices.SortStableFunc(out, func(a, b waitNode) int { return cmp.Compare(a.Since, b.Since) })
	if len(you.Below) > 0 {
		out = slices.Insert(out, 0, you)
	}
	left := mostTree
	for i := range out {
		out[i].cut(&left)
	}
	return out
}

// rootsOf draws the links of one room. In a circle everybody waits; it begins with who has waited longest.
func rootsOf(links []waits.Link) (out []waitNode) {
	by := make(map[string][]waits.Link) // who waits, by for whom
	waiting := make(map[string]bool)
	for _, l := range links {
		to := words.Who(l.To())
		by[to] = append(by[to], l)
		waiting[string(l.Asker)] = true
	}
	drawn := make(map[mail.ID]bool)
	var above []string
	var grow func(name string) []*waitNode
	grow = func(name string) (nodes []*waitNode) {
		above = append(above, name)
		for _, l := range by[name] {
			if drawn[l.Question] && l.Asked != "" {
				continue
			}
			drawn[l.Question] = true
			n := &waitNode{Link: l, Circle: slices.Contains(above, string(l.Asker))}
			if !n.Circle {
				n.Below = grow(string(l.Asker))
			}
			nodes = append(nodes, n)
		}
		above = above[:len(above)-1]
		return nodes
	}
	root := func(l waits.Link) {
		if n := (waitNode{Link: l, Root: true}); !drawn[l.Question] {
			n.Below = grow(words.Who(l.To()))
			out = append(out, n)
		}
	}
	for _, l := range links {
		if !waiting[words.Who(l.To())] {
			root(l)
		}
	}
	for _, l := range links { // what is left leads into circles
		root(l)
	}
	return out
}

// cut leaves so many lines: those with somebody above them first, the others as a number.
func (n *waitNode) cut(left *int) {
	slices.SortStableFunc(n.Below, func(a, b *waitNode) int {
		return cmp.Or(min(len(b.Below), 1)-min(len(a.Below), 1), cmp.Compare(a.Since, b.Since))
	})
	shown, lonely := 0, 0
	for _, c := range n.Below {
		if len(c.Below) == 0 {
			lonely++
		}
		if *left <= 0 || lonely > alone {
			break
		}
		*left--
		shown++
		c.cut(left)
	}
	n.Alone = len(n.Below) - shown
	n.Below = n.Below[:shown]
}

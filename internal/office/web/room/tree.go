package room

import (
	"cmp"
	"slices"

	"pennypost/internal/mail"
	"pennypost/internal/office/web/waits"
	"pennypost/internal/office/web/words"
)

const (
	mostTree = 60 // lines in the tree
	alone    = 5  // agents listed that ask the same one, while no one waits for them
)

// waitNode is an agent, or the user, in the tree of waits: those who wait for it are below.
type waitNode struct {
	waits.Link // for a root, one of the links to it; else its own wait
	Root       bool
	Circle     bool // its wait leads back to itself
	Below      []*waitNode
	Alone      int // how many more wait for it, with no one waiting for them
}

// Name is the address on its line.
func (n *waitNode) Name() mail.Address {
	if n.Root {
		return n.To()
	}
	return n.From()
}

// NameHref is the page of that address.
func (n *waitNode) NameHref() string {
	if n.Root {
		return n.ToHref()
	}
	return n.FromHref()
}

// IsYou reports whether it is the user's line.
func (n *waitNode) IsYou() bool { return n.Root && n.Asked == mail.User }

// treeOf draws the waits in several rooms. Roots wait for no one; the user is first.
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

// rootsOf draws the links of one room. A circle begins with the one that has waited longest.
func rootsOf(links []waits.Link) (out []waitNode) {
	by := make(map[string][]waits.Link) // links by who is waited for
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
	for _, l := range links { // the rest lead into circles
		root(l)
	}
	return out
}

// cut keeps at most *left lines: first those with others waiting for them. It counts the rest.
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

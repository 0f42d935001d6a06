package fold

import (
	"cmp"
	"iter"
	"slices"

	"pennypost/internal/mail"
)

// List is a list of records in journal order, without repetition.
type List []*Record

// Search returns the index in l of the record with a sequence number, or where it would go, and whether it is there.
func (l List) Search(seq mail.Seq) (int, bool) {
	return slices.BinarySearchFunc(l, seq, func(r *Record, seq mail.Seq) int { return cmp.Compare(r.Seq, seq) })
}

// set puts r in its place, or takes it out, and reports whether r was added.
func (l *List) set(r *Record, in bool) (came bool) {
	if in {
		return l.Add(r)
	}
	l.remove(r)
	return false
}

// Add puts r in its place and reports whether it was not there.
func (l *List) Add(r *Record) bool {
	if n := len(*l); n == 0 || (*l)[n-1].Seq < r.Seq {
		*l = append(*l, r)
		return true
	}
	i, found := l.Search(r.Seq)
	if !found {
		*l = slices.Insert(*l, i, r)
	}
	return !found
}

// remove takes r out. The front of the list, where reading usually happens, costs nothing to take from.
func (l *List) remove(r *Record) {
	i, found := l.Search(r.Seq)
	switch {
	case !found:
	case i == 0:
		(*l)[0] = nil
		*l = (*l)[1:]
	default:
		*l = slices.Delete(*l, i, i+1)
	}
}

// After returns the part of l after a sequence number.
func (l List) After(seq mail.Seq) List {
	i, found := l.Search(seq)
	if found {
		i++
	}
	return l[i:]
}

// Before returns the part of l before a sequence number, all of it if that is zero.
func (l List) Before(seq mail.Seq) List {
	if seq == 0 {
		return l
	}
	i, _ := l.Search(seq)
	return l[:i]
}

// InOrder yields l from its end or from its beginning.
func (l List) InOrder(newest bool) iter.Seq2[int, *Record] {
	if newest {
		return slices.Backward(l)
	}
	return slices.All(l)
}

// DropGone takes out the records that are gone, all of which lie between two sequence numbers. It costs as much as
// the records between them and before them, so retention, which takes the oldest, pays little for a long list.
func (l *List) DropGone(first, last mail.Seq) {
	from, _ := l.Search(first)
	to, found := l.Search(last)
	if found {
		to++
	}
	keep := to
	for i := to - 1; i >= from; i-- {
		if r := (*l)[i]; !r.Gone {
			keep--
			(*l)[keep] = r
		}
	}
	keep -= from
	copy((*l)[keep:], (*l)[:from])
	clear((*l)[:keep])
	*l = (*l)[keep:]
}

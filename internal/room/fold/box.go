package fold

import (
	"iter"
	"slices"

	"pennypost/internal/mail"
)

// box is a list of mail that waits for one member, with a count for any time. Mail expires without an event, so the
// count itself cannot be stored; the box stores when each record ends, in order, and computes the count with one
// search.
type box struct {
	List
	ends []mail.Time // parallel to List: until when each counts; 0: for ever; never: not at all
	due  []mail.Time // those of ends that are times, in order
	out  int         // how many do not count
}

// never is the end of a record that waits and does not count: it was withdrawn or put off.
const never mail.Time = -1

// set puts r in its place, until end, or takes it out, and reports whether r was added.
func (b *box) set(r *Record, in bool, end mail.Time) (came bool) {
	if n := len(b.List); in && (n == 0 || b.List[n-1].Seq < r.Seq) {
		b.List, b.ends = append(b.List, r), append(b.ends, end)
		b.count(end, 1)
		return true
	}
	i, found := b.Search(r.Seq)
	switch {
	case in && found:
		if b.ends[i] != end {
			b.count(b.ends[i], -1)
			b.ends[i] = end
			b.count(end, 1)
		}
	case in:
		b.List, b.ends = slices.Insert(b.List, i, r), slices.Insert(b.ends, i, end)
		b.count(end, 1)
	case found:
		b.count(b.ends[i], -1)
		b.List.remove(r)
		b.ends = without(b.ends, i)
	}
	return in && !found
}

// count adds an end (n = 1) or removes one.
func (b *box) count(end mail.Time, n int) {
	switch {
	case end == never:
		b.out += n
	case end == 0:
	case n > 0 && (len(b.due) == 0 || b.due[len(b.due)-1] <= end):
		b.due = append(b.due, end)
	default:
		i, _ := slices.BinarySearch(b.due, end)
		if n > 0 {
			b.due = slices.Insert(b.due, i, end)
		} else {
			b.due = without(b.due, i)
		}
	}
}

// At returns how many records count at a time.
func (b *box) At(now mail.Time) int {
	past, _ := slices.BinarySearch(b.due, now+1)
	return len(b.List) - b.out - past
}

// Within returns the part of b between two sequence numbers, which must not be changed; 0 means no limit.
func (b *box) Within(after, before mail.Seq) box {
	rest := b.List.After(after)
	from := len(b.List) - len(rest)
	rest = rest.Before(before)
	return box{List: rest, ends: b.ends[from : from+len(rest)]}
}

// Alive yields the records that have not expired. It touches no expired ones, of which there may be many.
func (b *box) Alive(newest bool, now mail.Time) iter.Seq[*Record] {
	return func(yield func(*Record) bool) {
		for n := range b.ends {
			i := n
			if newest {
				i = len(b.ends) - 1 - n
			}
			if end := b.ends[i]; (end <= 0 || end > now) && !yield(b.List[i]) {
				return
			}
		}
	}
}

// Callers yields the unread mail of m that is of the kind that wakes it and has not expired. It includes other mail
// if all of it together is less.
func (m *Member) Callers(now mail.Time) iter.Seq[*Record] {
	if m.Unread.At(now) < len(m.Calling) {
		return m.Unread.Alive(false, now)
	}
	return slices.Values(m.Calling)
}

// past yields the records that have expired, and touches none of the others.
func (b *box) past(now mail.Time) iter.Seq[*Record] {
	return func(yield func(*Record) bool) {
		if len(b.due) == 0 || b.due[0] > now {
			return
		}
		for i, end := range b.ends {
			if end > 0 && end <= now && !yield(b.List[i]) {
				return
			}
		}
	}
}

// dropGone takes out the records that are gone, all of which lie between two sequence numbers.
func (b *box) dropGone(first, last mail.Seq) {
	some := b.Within(first-1, last+1)
	from, _ := b.Search(first)
	var ends []mail.Time
	keep := from + len(some.List)
	for i := keep - 1; i >= from; i-- {
		switch end := b.ends[i]; {
		case !b.List[i].Gone:
			keep--
			b.ends[keep] = end
		case end == never:
			b.out--
		case end > 0:
			ends = append(ends, end)
		}
	}
	if len(ends) > 0 {
		b.due = less(b.due, ends)
	}
	keep -= from
	copy(b.ends[keep:], b.ends[:from])
	b.ends = b.ends[keep:]
	b.List.DropGone(first, last)
}

// less takes times out of a list in order, which contains each of them.
func less(l, some []mail.Time) []mail.Time {
	slices.Sort(some)
	return slices.DeleteFunc(l, func(t mail.Time) bool {
		if len(some) == 0 || t != some[0] {
			return false
		}
		some = some[1:]
		return true
	})
}

// without takes l[i] out. The front, where reading usually happens, costs nothing to take from.
func without(l []mail.Time, i int) []mail.Time {
	if i == 0 {
		return l[1:]
	}
	return slices.Delete(l, i, i+1)
}

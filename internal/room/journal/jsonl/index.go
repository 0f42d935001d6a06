package jsonl

import (
	"sort"

	"pennypost/internal/mail"
)

// index finds a place in the file without reading it from the start. It keeps one point every so many bytes, four
// megabytes for a gigabyte.
type index struct {
	start  int64 // where lines begin
	points []point
}

type point struct {
	seq mail.Seq // of the line that begins at off
	off int64
}

// indexStep is the distance of two points, or one line more. Reading one event means reading that much: half of it
// would make no read quicker, and the points twice as many.
const indexStep = 4 << 10

func (x *index) add(seq mail.Seq, off int64) {
	if n := len(x.points); n == 0 || off-x.points[n-1].off >= indexStep {
		x.points = append(x.points, point{seq, off})
	}
}

// before returns an offset at which a line begins and before which no event behind seq stands.
func (x *index) before(seq mail.Seq) int64 {
	off, _ := x.around(seq+1, 0)
	return off
}

// around returns from where to where the line of seq stands, if it does, in a file of that size.
func (x *index) around(seq mail.Seq, size int64) (from, to int64) {
	i := sort.Search(len(x.points), func(i int) bool { return x.points[i].seq > seq })
	from, to = x.start, size
	if i > 0 {
		from = x.points[i-1].off
	}
	if i < len(x.points) {
		to = x.points[i].off
	}
	return from, to
}

// part returns the part of a file of that size in which the first n of places stand: as many as can be had by reading
// little that is not asked for, and at least one.
func (x *index) part(places []mail.Seq, size int64) (s span, n int) {
	const gap = 4 * indexStep // to read that much takes no longer than to begin another read
	from, end := x.around(places[0], size)
	for n = 1; n < len(places); n++ {
		next, to := x.around(places[n], size)
		if next > end+gap || to > from+chunkSize {
			break
		}
		end = to
	}
	return span{from, end - from}, n
}

package jsonl

import (
	"sort"

	"pennypost/internal/mail"
)

// index finds the offset of a line without reading the file from its start. It keeps one point per indexStep bytes:
// four megabytes for a gigabyte.
type index struct {
	start  int64 // where lines begin
	points []point
}

type point struct {
	seq mail.Seq // of the line at off
	off int64
}

// indexStep is the minimum distance between two points. Reading one event means reading that much: half of it would
// make no read quicker, and double the number of points.
const indexStep = 4 << 10

func (x *index) add(seq mail.Seq, off int64) {
	if n := len(x.points); n == 0 || off-x.points[n-1].off >= indexStep {
		x.points = append(x.points, point{seq, off})
	}
}

// before returns the offset of a line such that no event after seq is before it.
func (x *index) before(seq mail.Seq) int64 {
	off, _ := x.around(seq+1, 0)
	return off
}

// around returns the range of offsets that holds the line of seq, if it exists, in a file of the given size.
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

// part returns the part of the file that holds the first n of places. It takes as many as it can without reading much
// else, and at least one.
func (x *index) part(places []mail.Seq, size int64) (s span, n int) {
	const gap = 4 * indexStep // reading that much takes no longer than starting another read
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

package jsonl

import (
	"sort"

	"pennypost/internal/mail"
)

// index finds a place in the file without reading it from the start. It keeps one point every so many bytes, a few
// kilobytes for a gigabyte.
type index struct {
	start  int64 // where lines begin
	points []point
}

type point struct {
	seq mail.Seq // of the line that begins at off
	off int64
}

// indexStep is the distance of two points, or up to twice that where a compaction joined old and new lines. Finding a
// line means scanning that much at worst.
const indexStep = chunkSize

func (x *index) add(seq mail.Seq, off int64) {
	if n := len(x.points); n == 0 || off-x.points[n-1].off >= indexStep {
		x.points = append(x.points, point{seq, off})
	}
}

// before returns an offset at which a line begins and before which no event behind seq stands.
func (x *index) before(seq mail.Seq) int64 {
	i := sort.Search(len(x.points), func(i int) bool { return x.points[i].seq > seq+1 })
	if i == 0 {
		return x.start
	}
	return x.points[i-1].off
}

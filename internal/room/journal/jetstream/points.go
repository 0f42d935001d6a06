package jetstream

import (
	"path/filepath"
	"slices"

	"pennypost/internal/base/kept"
	"pennypost/internal/mail"
)

const (
	// pointsName is the file in the copy's directory that says where in a shard its messages are.
	pointsName = "shard.json"
	// pointsApart is the distance between two remembered messages.
	pointsApart = 1000
)

// points record, for some messages of a room in a shard, where they are in the stream, so that the room need
// not be counted from its beginning.
type points struct {
	file string

	Subject string  `json:"subject"`
	Points  []point `json:"points"` // in order; the last is the newest known
	saved   mail.Seq
}

// loadPoints reads the file in the directory of a copy. An unreadable file counts as none.
func loadPoints(dir string) *points {
	p := &points{file: filepath.Join(dir, pointsName)}
	if err := kept.Load(p.file, p); err != nil {
		p.Subject, p.Points = "", nil
	}
	return p
}

// of binds the points to a subject: those of another subject are forgotten.
func (p *points) of(subject string) {
	if p.Subject != subject {
		p.Subject, p.Points, p.saved = subject, nil, 0
	}
}

// before returns the last point up to a sequence number.
func (p *points) before(seq mail.Seq) (at point) {
	for _, x := range p.Points {
		if x.Seq <= seq {
			at = x
		}
	}
	return at
}

// note remembers where a message is.
func (p *points) note(x point) {
	n := len(p.Points)
	switch {
	case n > 0 && p.Points[n-1].Seq >= x.Seq: // it was delivered again
	case n > 1 && p.Points[n-1].Seq-p.Points[n-2].Seq < pointsApart:
		p.Points[n-1] = x
	default:
		p.Points = append(p.Points, x)
	}
}

// cut forgets the points after a sequence number at which the copy was cut off.
func (p *points) cut(last mail.Seq) {
	p.Points = slices.DeleteFunc(p.Points, func(x point) bool { return x.Seq > last })
	p.saved = 0
}

// save writes the file if enough has been noted since the last time, or always.
func (p *points) save(always bool) error {
	n := len(p.Points)
	if n == 0 || !always && p.Points[n-1].Seq < p.saved+pointsApart {
		return nil
	}
	p.saved = p.Points[n-1].Seq
	return kept.Save(p.file, p)
}

package jetstream

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"pennypost/internal/base/kept"
	"pennypost/internal/mail"
	"pennypost/internal/room/journal"
)

const (
	// ringsName is the file in the copy's directory that records which keys the room had at some of its events.
	ringsName = "keys.json"
	// ringsApart is the distance between two of these events, and ringsKept their number: after a crash, the newest
	// may be beyond the end of the copy.
	ringsApart = 1000
	ringsKept  = 2
	// tellSeldom is the least time between two news about refusals from a machine.
	tellSeldom = time.Hour
)

// rings are the remembered keys of a room, so that the room need not be read from its beginning. The follower owns
// them.
type rings struct {
	file string
	now  *ring // at the end of the copy, if nothing has failed; nil: unknown
	told map[mail.Machine]time.Time

	Subject string  `json:"subject"`
	Rings   []*ring `json:"rings"` // in order
	// Before has the keys that the room had in its previous lane, and Admits says that every machine had to be
	// admitted there.
	Before [][]byte `json:"before,omitempty"`
	Admits bool     `json:"admits,omitzero"`
}

// loadRings reads the file in the directory of a copy. An unreadable file counts as none.
func loadRings(dir string) rings {
	r := rings{file: filepath.Join(dir, ringsName)}
	if err := kept.Load(r.file, &r); err != nil || slices.Contains(r.Rings, nil) {
		return rings{file: r.file}
	}
	return r
}

// of binds the rings to a subject: of those of another subject, it remembers the keys.
func (r *rings) of(subject string) {
	if r.Subject == subject {
		return
	}
	if last := r.last(); last != nil {
		r.Before, r.Admits = nil, last.Admits
		for _, k := range last.Machines {
			if k.Key != nil {
				r.Before = append(r.Before, k.Key)
			}
		}
	}
	r.Subject, r.Rings, r.now = subject, nil, nil
}

// last returns the newest ring, nil if there is none.
func (r *rings) last() *ring {
	if r.now != nil || len(r.Rings) == 0 {
		return r.now
	}
	return r.Rings[len(r.Rings)-1]
}

// cut forgets the rings after a sequence number.
func (r *rings) cut(seq mail.Seq) {
	r.Rings = slices.DeleteFunc(r.Rings, func(x *ring) bool { return x.Seq > seq })
	if r.now != nil && r.now.Seq > seq {
		r.now = nil
	}
}

// save writes the file if enough has come since the last time, or always.
func (r *rings) save(always bool) error {
	if r.now == nil || r.file == "" || len(r.now.Machines) == 0 && !always {
		return nil
	}
	n := len(r.Rings)
	if n > 0 && (r.now.Seq < r.Rings[n-1].Seq+ringsApart && !always || r.now.Seq == r.Rings[n-1].Seq) {
		return nil
	}
	r.Rings = append(r.Rings, r.now.clone())
	r.Rings = r.Rings[max(0, len(r.Rings)-ringsKept):]
	return kept.Save(r.file, r)
}

// prove finds out which keys the room had at the end of the copy, so that later messages can be judged.
func (j *Journal) prove(ctx context.Context, l *lane) error {
	if !l.shared {
		j.mu.Lock()
		defer j.mu.Unlock()
		j.standing = standing{}
		return nil
	}
	end := min(j.local.Last(), l.end)
	r, err := j.ringBefore(ctx, l, end)
	if err != nil {
		return fmt.Errorf("read the list of keys of the room: %w", err)
	}
	if r.Seq < end {
		err := l.read(ctx, j.cluster.nc, j.point(l, r.Seq), r.Seq, end, func(a arrival) error {
			r.judge(&a)
			return nil
		})
		if err != nil {
			return fmt.Errorf("read the keys of the room: %w", err)
		}
	}
	if err := j.founded(r); err != nil {
		return err
	}
	j.rings.now = r
	j.setStanding(r)
	return nil
}

// proveAndCompare is compare, after a check that the room is still the same one.
func (j *Journal) proveAndCompare(ctx context.Context, l *lane) error {
	known := len(l.holes)
	err := j.prove(ctx, l)
	if err != nil {
		return err
	}
	short := l.end < j.local.Last()
	err = j.compare(ctx, l, l.end)
	if err == nil && short { // the lost end was put back
		if err = l.look(ctx, j.cluster.nc); err == nil {
			err = j.prove(ctx, l)
		}
	}
	if err != nil && !errors.Is(err, errDiffers) {
		return err
	}
	if counted := l.checkCount(ctx, j.cluster.nc, known); counted != nil {
		j.rings.now = nil
		return counted
	}
	return err
}

// ringBefore returns the newest ring up to a sequence number that belongs to the stream as it is now.
func (j *Journal) ringBefore(ctx context.Context, l *lane, end mail.Seq) (*ring, error) {
	j.rings.of(l.subject)
	known := slices.Clone(j.rings.Rings)
	if j.rings.now != nil {
		known = append(known, j.rings.now)
	}
	for _, r := range slices.Backward(known) {
		if r.Seq > end || r.At == 0 {
			continue
		}
		if same, err := r.isOf(ctx, l); err != nil {
			return nil, err
		} else if same {
			return r.clone(), nil
		}
	}
	return &ring{}, nil
}

// isOf reports whether the last message that a ring has judged is in the stream.
func (r *ring) isOf(ctx context.Context, l *lane) (bool, error) {
	m, err := l.GetMsg(ctx, r.At)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		_, erased := l.holes.find(r.At)
		return erased, nil
	}
	return err == nil && m.Subject == l.subject && l.idIn(m.Header.Get(headerID)) == r.ID, err
}

// founded returns an error if the machine that copied the room to its lane was not in it. Then it is another room.
func (j *Journal) founded(r *ring) error {
	before := &j.rings
	founds := func(key []byte) bool { return bytes.Equal(key, r.Founder) }
	switch {
	case !before.Admits, r.Seq == 0, slices.ContainsFunc(before.Before, founds),
		j.cluster.cfg.Knows != nil && j.cluster.cfg.Knows(r.Founder):
		return nil
	}
	return &mail.Error{Code: mail.Denied, Err: errForged, Msg: fmt.Sprintf("room %s was replaced on the NATS "+
		"servers by a machine that does not belong to it. This machine shows its own copy and accepts nothing from "+
		"there",
		j.room)}
}

var errForged = errors.New("another room has taken the place of this one")

func (j *Journal) setStanding(r *ring) {
	s := r.standing(j.cluster.cfg.Machine)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.standing = s
}

// judge removes the text of arrivals that do not count, so that there are no such events. Other machines judge the
// same way.
func (j *Journal) judge(some []arrival) {
	r := j.rings.now
	if r == nil {
		return
	}
	for i := range some {
		a := &some[i]
		if a.hole != nil || a.seq <= r.Seq {
			continue
		}
		if a.refused = r.judge(a); a.refused != "" {
			a.text, a.fence, a.archived = nil, "", false
			j.tellRefused(a)
		}
	}
	j.mu.Lock()
	same := j.standing.same(r)
	j.mu.Unlock()
	if !same {
		j.setStanding(r)
	}
}

// tellRefused tells the person about a refusal, but not about each one from a machine.
func (j *Journal) tellRefused(a *arrival) {
	from := a.proof.machine
	now := time.Now()
	if now.Sub(j.rings.told[from]) < tellSeldom {
		return
	}
	if j.rings.told == nil || len(j.rings.told) > 100 { // invented names
		j.rings.told = make(map[mail.Machine]time.Time)
	}
	j.rings.told[from] = now
	who := "the machine " + string(from)
	if _, err := mail.ParseMachine(string(from)); err != nil {
		who = "an unnamed machine"
	}
	j.log.Error("event rejected", "machine", from, "seq", a.seq, "why", a.refused)
	j.local.Tell(journal.News{Subject: "A message to room " + j.room + " was rejected",
		Body: fmt.Sprintf("Message %d of room %s on the NATS servers is from %s, but %s. It is not shown and has "+
			"no effect. Someone else may have the servers' password, or a machine has a new key. This machine does "+
			"not report further messages of this kind for an hour", a.seq, j.room, who, a.refused)})
}

// refuse tells the sender of a batch that it does not count.
func (f *flight) refuse(err error) { offer(f.refused, err) }

func (j *Journal) errRefused(why string) error {
	return mail.Errorf(mail.Denied, "room %s does not accept this from the machine %s: %s. It has no effect",
		j.room, j.cluster.cfg.Machine, why)
}

// barredLocked returns why this machine must not write to the room, as far as known.
func (j *Journal) barredLocked() error {
	s, me := &j.standing, j.cluster.cfg.Machine
	key := j.cluster.publicKey()
	theirs, in := s.keys[me]
	switch {
	case !s.known, !s.admits && !in, in && len(theirs.Key) > 0 && key.Equal(ed25519.PublicKey(theirs.Key)):
		return nil
	case key == nil:
		return mail.Errorf(mail.Denied, "room %s accepts mail only from machines that sign it, and this one has no "+
			"key",
			j.room)
	}
	why := "was not admitted to it yet"
	switch {
	case in && len(theirs.Key) == 0:
		why = "was removed from it"
	case in:
		why = "is known there with another key"
	}
	return mail.Errorf(mail.Denied, "room %s accepts nothing from here: this machine %s. To admit it, type on a "+
		"machine of the room: pennypost machines admit %s %s", j.room, why, me, mail.KeyText(key))
}

// Proven implements journal.Prover.
func (j *Journal) Proven() journal.Proven {
	j.mu.Lock()
	defer j.mu.Unlock()
	return journal.Proven{Key: j.cluster.publicKey(), Keys: j.standing.keys, Admits: j.standing.admits,
		Known: j.standing.known}
}

package jsonl

import (
	"bytes"
	"context"
	"fmt"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
	"pennypost/internal/room/journal"
)

var _ journal.Compacter = (*Journal)(nil)

// Compact implements journal.Compacter. Lines are copied byte for byte. Events with unknown content stay without a
// call of fate, as do unreadable lines.
func (j *Journal) Compact(ctx context.Context, fate func(mail.Event) journal.Fate) error {
	if err := j.becomeKeeper(ctx); err != nil {
		return err
	}
	defer j.endKeeping()
	if err := j.compact(ctx, fate); err != nil {
		return fmt.Errorf("compact journal: %w", err)
	}
	// Index now, so that no reader has to wait for it. If that fails, the next reader tries again.
	if err := j.readArchive(ctx, func(*archiveReader) error { return nil }); err != nil {
		j.log.Warn("archive not indexed", "err", err)
	}
	return nil
}

func (j *Journal) compact(ctx context.Context, fate func(mail.Event) journal.Fate) error {
	if err := j.undoArchive(); err != nil { // leftovers of an earlier failure
		return err
	}
	p, r, err := j.besideLookups(ctx, func(p *plan, l line, e mail.Event, err error) journal.Fate {
		if err != nil || e.Seq == p.last || !known(e) {
			return journal.Keep
		}
		return fate(e)
	})
	if err != nil || r == nil {
		return err
	}
	return j.carryOut(p, r)
}

// besideLookups makes a plan and its new file while lookups use the archive: this takes long in a large journal. The
// replacement is nil if no line goes.
func (j *Journal) besideLookups(ctx context.Context, decide verdict) (p *plan, r *replacement, err error) {
	<-j.shelf
	defer func() { j.shelf <- struct{}{} }()
	if p, err = j.plan(ctx, decide); err == nil && p.gone > 0 {
		r, err = j.prepare(p)
	}
	return p, r, err
}

// Erase implements journal.Compacter. The main file comes last: while it still has the text, an interrupted erasure is
// recognisable as unfinished.
func (j *Journal) Erase(ctx context.Context, id mail.ID, match func(mail.Event) bool) (int, error) {
	if err := j.becomeKeeper(ctx); err != nil {
		return 0, err
	}
	defer j.endKeeping()
	gone, err := j.erase(ctx, eraser{match: match, forms: forms(id)})
	if err != nil {
		return gone, fmt.Errorf("erase from journal: %w", err)
	}
	return gone, nil
}

func (j *Journal) erase(ctx context.Context, x eraser) (gone int, err error) {
	if err := j.usable(); err != nil {
		return 0, err
	}
	if err := j.undoArchive(); err != nil {
		return 0, err
	}
	if err := j.dropUnfinished(); err != nil {
		return 0, err
	}
	names, err := j.months()
	if err != nil {
		return 0, err
	}
	foreign, err := j.foreigners()
	if err != nil {
		return 0, err
	}
	for _, name := range append(append(names, foreign...), rejectedName) {
		n, err := j.eraseIn(ctx, name, x)
		gone += n
		if err != nil {
			return gone, err
		}
	}
	p, err := j.plan(ctx, func(p *plan, l line, e mail.Event, err error) journal.Fate {
		if x.matches(l.text) {
			return journal.Drop
		}
		return journal.Keep
	})
	if err != nil || p.gone == 0 {
		return gone, err
	}
	r, err := j.prepare(p)
	if err == nil {
		err = j.carryOut(p, r)
	}
	if err != nil {
		return gone, err
	}
	return gone + p.gone, nil
}

// dropUnfinished removes unfinished files that could not be removed earlier. They may hold the text.
func (j *Journal) dropUnfinished() error {
	j.takeLead() // so that no such file is in use
	defer j.giveLead()
	return j.eachUnfinished(func(dir, name string) error {
		if name == lastName+tmpSuffix { // it holds no text, and may be written at any time
			return nil
		}
		return j.disk.Remove(j.path(dir + "/" + name))
	})
}

// eraser decides which lines to erase.
type eraser struct {
	match func(mail.Event) bool
	forms [][]byte // of the id, as an unreadable line may contain it
	parse parser
}

func forms(id mail.ID) [][]byte {
	if id == "" {
		return nil
	}
	quoted := jsonx.AppendQuote(nil, string(id))
	return [][]byte{[]byte(id), quoted[1 : len(quoted)-1]}
}

// matches reports whether to erase a line. A line that we cannot read may still hold the text.
func (x *eraser) matches(text []byte) bool {
	if seq, covered, err := check(text); err == nil {
		if e, err := x.parse.read(seq, covered); err == nil && known(e) {
			return x.match(e)
		}
	}
	for _, form := range x.forms {
		if bytes.Contains(text, form) {
			return true
		}
	}
	return false
}

// eraseIn removes lines from one of the files other than the main file.
func (j *Journal) eraseIn(ctx context.Context, name string, x eraser) (gone int, err error) {
	indexed := inArchive(name)
	gone, _, err = j.sift(name, func(l line) (goes bool, instead []byte, err error) {
		it, _, bad := inspect(l.text)
		goes = !(bad == nil && it.gone != "") && x.matches(l.text)
		if goes && indexed {
			j.forgetIndex(name)
			indexed = false
		}
		if goes && bad == nil && inArchive(name) { // the chain runs through the archive
			it.gone = dropped
			instead = it.line()
		}
		return goes, instead, j.stopped(ctx)
	})
	if noFile(err) {
		return 0, nil
	}
	if name == rejectedName && err == nil {
		j.mu.Lock()
		j.rejected -= gone
		j.mu.Unlock()
	}
	return gone, err
}

package bridge

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"pennypost/internal/base/confined"
	"pennypost/internal/base/durable"
	"pennypost/internal/mail"
	"pennypost/internal/office/dialect"
)

// placeName is the file in which a bridge records the identity of its directory. A backup skips files with such
// names: a home restored elsewhere has another directory beside it.
const placeName = ".place.json"

// placed is a bridge's directory. If the mailbox's owner may remove and recreate it, its parent identifies it.
type placed struct {
	confined.Place
	Below string `json:"below"`         // path inside Place
	Told  bool   `json:"told,omitzero"` // the person knows that the directory was replaced
}

func (b *Bridge) placeFile() dialect.Own {
	return dialect.Own{Path: filepath.Join(b.opts.State, placeName), Has: "which directory was bridged"}
}

// findPlace loads the identity of the directory that the person named; a new bridge records the present one.
func (b *Bridge) findPlace() error {
	p := new(placed)
	if err := b.placeFile().Load(p); err != nil {
		return err
	}
	if *p == (placed{}) {
		return b.notePlace()
	}
	b.dir = p
	return nil
}

// notePlace records the identity of the directory at the named path.
func (b *Bridge) notePlace() (err error) {
	p := &placed{Below: "."}
	dir := b.opts.Bridge.Dir
	if b.opts.Dialect.Vanishes {
		if info, err := os.Lstat(dir); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			if dir, err = filepath.EvalSymlinks(dir); err != nil {
				return err
			}
		}
		for {
			dir, p.Below = filepath.Dir(dir), filepath.Join(filepath.Base(dir), p.Below)
			if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
				break
			}
		}
	}
	if p.Place, err = confined.Find(dir); err != nil {
		return err
	}
	if err := durable.MkdirAll(b.opts.State, 0o700); err != nil {
		return err
	}
	b.dir = p
	return b.savePlace()
}

func (b *Bridge) savePlace() error { return b.placeFile().Save(b.dir) }

// there returns an error if the directory is missing or is not the one that the person named.
func (b *Bridge) there(ctx context.Context) error {
	if b.dir == nil {
		if err := b.findPlace(); err != nil {
			b.dir = nil
			return err
		}
	}
	err := b.dir.Dir(b.dir.Below).Check()
	_, moved := errors.AsType[*confined.MovedError](err)
	_, refused := errors.AsType[*confined.RefusedError](err)
	switch {
	case moved || refused:
		err = fmt.Errorf("%w. The bridge continues when the old directory is back. To use the new directory, add "+
			"the bridge again after: pennypost bridge remove %s", err, b.opts.Bridge.ID)
		b.tellMoved(ctx, err)
	case errors.Is(err, fs.ErrNotExist) && b.opts.Dialect.Vanishes:
		return nil
	case err == nil && b.dir.Told:
		b.dir.Told = false
		err = b.savePlace()
	}
	return err
}

// tellMoved tells the person, once, that the directory was replaced.
func (b *Bridge) tellMoved(ctx context.Context, why error) {
	if b.dir.Told {
		return
	}
	_, err := b.opts.Room.As(mail.System).Send(ctx, mail.Draft{To: mail.Recipients{string(mail.User)},
		Type: string(mail.Status), Subject: "The bridge " + b.opts.Bridge.ID + " refuses its directory",
		Body: why.Error() + ". The room keeps its mail for the bridge; nothing is lost."})
	if b.dir.Told = err == nil; b.dir.Told {
		err = b.savePlace()
	}
	if err != nil {
		b.log.Warn("person not notified", "err", err)
	}
}

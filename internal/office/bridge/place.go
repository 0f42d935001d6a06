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

// placeName is the file in which a bridge keeps which directory the person named. A backup takes no such names: beside
// a home that was restored elsewhere it is another one.
const placeName = ".place.json"

// placed is the directory of a bridge. Where the owner of the mailbox removes it and makes it again it is known by the
// one in which it lies.
type placed struct {
	confined.Place
	Below string `json:"below"`         // where it lies in that
	Told  bool   `json:"told,omitzero"` // the person knows that it is another one now
}

func (b *Bridge) placeFile() dialect.Own {
	return dialect.Own{Path: filepath.Join(b.opts.State, placeName), Has: "which directory was bridged"}
}

// findPlace finds out which directory the person named: as it was noted then or, by a bridge that has noted nothing
// yet, as it is now.
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

// notePlace notes which directory stands where the person said.
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

// there returns why the directory cannot be used: it is away, or another one than the person named.
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
		err = fmt.Errorf("%w. When what was there is back, the bridge goes on by itself; if another directory is "+
			"meant, name it again: pennypost bridge remove %s", err, b.opts.Bridge.ID)
		b.tellMoved(ctx, err)
	case errors.Is(err, fs.ErrNotExist) && b.opts.Dialect.Vanishes:
		return nil
	case err == nil && b.dir.Told:
		b.dir.Told = false
		err = b.savePlace()
	}
	return err
}

// tellMoved tells the person, once, that another directory is there.
func (b *Bridge) tellMoved(ctx context.Context, why error) {
	if b.dir.Told {
		return
	}
	_, err := b.opts.Room.As(mail.System).Send(ctx, mail.Draft{To: mail.Recipients{string(mail.User)},
		Type: string(mail.Status), Subject: "The bridge " + b.opts.Bridge.ID + " refuses its directory",
		Body: why.Error() + ". Mail of this room is kept for it; nothing is lost."})
	if b.dir.Told = err == nil; b.dir.Told {
		err = b.savePlace()
	}
	if err != nil {
		b.log.Warn("the person was not told", "err", err)
	}
}

package backup

import (
	"archive/tar"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path"
	"strings"
	"time"

	"pennypost/internal/base/durable"
	"pennypost/internal/base/jsonx"
	"pennypost/internal/config"
	"pennypost/internal/mail"
	"pennypost/internal/room/journal/jsonl"
)

// format is the version of the backup format.
const format = 1

// Names in a backup. Except for the manifest, they are those in the home.
const (
	manifestName = "manifest.json"
	tokenName    = "token"
	configName   = "config.toml"
	outboxName   = "outbox.jsonl"
	roomsName    = "rooms"
)

// Manifest lists the content of a backup.
type Manifest struct {
	Format  int       `json:"format"`
	Version string    `json:"version"` // of the Pennypost that wrote it
	At      mail.Time `json:"at"`      // when it was started; each room is from a later moment
	Rooms   []Room    `json:"rooms"`
	Files   []File    `json:"files"` // in the order of the archive
}

// Room is a room in a backup.
type Room struct {
	Name mail.RoomName `json:"name"`
	Seq  mail.Seq      `json:"seq"` // its last event
	// Raw says why the files are not those of a sound room at one moment: it could not be opened, so they were copied
	// unchanged, or the disk could not read all of them. Empty: they are.
	Raw string `json:"raw,omitempty"`
}

// File is a file in a backup.
type File struct {
	Name   string `json:"name"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"` // in hex
}

// Writer writes a backup. Its memory does not grow with the size of the files.
type Writer struct {
	gzip     *gzip.Writer
	tar      *tar.Writer
	manifest Manifest
}

// NewWriter starts a backup, which is complete only when Close has returned nil.
func NewWriter(to io.Writer, version string) *Writer {
	// Mail compresses well at any level, and the fastest keeps up with a disk.
	zip, err := gzip.NewWriterLevel(to, gzip.BestSpeed)
	if err != nil {
		panic(err) // there is no such level
	}
	return &Writer{zip, tar.NewWriter(zip), Manifest{Format: format, Version: version, At: mail.TimeOf(time.Now())}}
}

// Settings adds the content of a home other than rooms: the operator's token, the configuration, and mail in the
// outbox. It omits the logins of browsers, the name under which they know the pages, rooms that were removed, and the
// log.
func (w *Writer) Settings(home config.Home) error {
	for _, f := range []struct {
		name, path string
		most       int64
	}{{tokenName, home.Token(), maxSetting}, {configName, home.File(), maxSetting},
		{outboxName, home.Outbox(), math.MaxInt64}} {
		if err := w.setting(f.name, f.path, f.most); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("back up %s: %w", f.path, err)
		}
	}
	return nil
}

func (w *Writer) setting(name, path string, most int64) error {
	f, err := durable.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.Size() > most {
		return fmt.Errorf("it has %d bytes; the limit for a backup is %d", info.Size(), most)
	}
	return w.add(name, info.Size(), f)
}

// Room adds the files of a room, and the files of its bridges, which were opened before. raw is why the room could not
// be opened, nil if it could.
func (w *Writer) Room(name mail.RoomName, s *jsonl.Snapshot, kept []Kept, raw error) error {
	add := func(file string, from io.ReaderAt, size int64) error {
		all := patched{from: from, size: size}
		if err := w.add(path.Join(roomsName, string(name), file), size, &all); err != nil {
			return fmt.Errorf("back up %s of room %s: %w", file, name, err)
		}
		if all.err != nil {
			raw = errors.Join(raw, fmt.Errorf("%s cannot be read completely: %w", file, all.err))
		}
		return nil
	}
	for _, f := range s.Files {
		if err := add(f.Name, f, f.Size()); err != nil {
			return err
		}
	}
	for _, f := range kept {
		if err := add(f.name, f, f.size); err != nil {
			return err
		}
	}
	room := Room{Name: name, Seq: s.Seq}
	if raw != nil {
		room.Raw = strings.ReplaceAll(raw.Error(), "\n", "; ")
	}
	w.manifest.Rooms = append(w.manifest.Rooms, room)
	return nil
}

// Raw returns the rooms so far that could not be read completely, or not in order: see Room.
func (w *Writer) Raw() (rooms []Room) {
	for _, room := range w.manifest.Rooms {
		if room.Raw != "" {
			rooms = append(rooms, room)
		}
	}
	return rooms
}

// patched reads size bytes of a file, with zeros for data that the disk cannot read: one bad block must not prevent
// the backup of everything else.
type patched struct {
	from      io.ReaderAt
	off, size int64
	err       error // why the first of them could not be read
}

func (p *patched) Read(b []byte) (int, error) {
	b = b[:min(int64(len(b)), p.size-p.off)]
	if len(b) == 0 {
		return 0, io.EOF
	}
	n, err := p.from.ReadAt(b, p.off)
	if n < len(b) {
		clear(b[n:])
		p.err = cmp.Or(p.err, err)
	}
	p.off += int64(len(b))
	return len(b), nil
}

func (w *Writer) add(name string, size int64, from io.Reader) error {
	if len(w.manifest.Files) == maxFiles {
		return fmt.Errorf("too many files; the limit for a backup is %d", maxFiles)
	}
	header := tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o600, ModTime: w.manifest.At.Std()}
	if err := w.tar.WriteHeader(&header); err != nil {
		return err
	}
	sum := sha256.New()
	if _, err := io.CopyN(io.MultiWriter(w.tar, sum), from, size); err != nil {
		return err
	}
	w.manifest.Files = append(w.manifest.Files, File{name, size, hex.EncodeToString(sum.Sum(nil))})
	return nil
}

// Close adds the manifest and ends the backup.
func (w *Writer) Close() error {
	text, err := jsonx.Marshal(&w.manifest)
	if err != nil {
		return err
	}
	header := tar.Header{Typeflag: tar.TypeReg, Name: manifestName, Size: int64(len(text)), Mode: 0o600,
		ModTime: w.manifest.At.Std()}
	if err := w.tar.WriteHeader(&header); err != nil {
		return err
	}
	if _, err := w.tar.Write(text); err != nil {
		return err
	}
	return errors.Join(w.tar.Close(), w.gzip.Close())
}

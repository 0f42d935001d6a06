package backup

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"pennypost/internal/base/durable"
	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
	"pennypost/internal/room/journal/jsonl"
)

// Bounds on the content of an archive from an unknown source.
const (
	maxManifest = 64 << 20 // bytes; a file takes a hundred or two
	maxSetting  = 1 << 20  // bytes
	maxFiles    = 300_000  // their list still fits into a manifest
	maxRest     = 1 << 20  // bytes after the end; tar fills its last block with zeros
)

// damaged returns the error for an archive that is incomplete, or not ours.
func damaged(format string, args ...any) error {
	return mail.Errorf(mail.Invalid, "the backup cannot be used: "+format, args...)
}

// unpack writes the files of an archive into dir, which is empty, and makes them durable. It returns nil only if they
// match the manifest, byte for byte; otherwise the caller must remove the files that are in dir.
func unpack(dir string, from io.Reader) (Manifest, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return Manifest{}, err
	}
	defer root.Close()
	zip, err := gzip.NewReader(from)
	if err != nil {
		return Manifest{}, damaged("not a gzip file: %w", err)
	}
	u := unpacker{tar: tar.NewReader(zip), root: root, dirs: map[string]bool{".": true}}
	m, err := u.all()
	if err != nil {
		return m, err
	}
	// Only the end of the file has the checksum of the data, including the manifest.
	if n, err := io.CopyN(io.Discard, zip, maxRest); err == nil {
		return m, damaged("at least %d bytes follow its end", n)
	} else if err != io.EOF {
		return m, damaged("its end is damaged: %w", err)
	}
	return m, u.sync()
}

type unpacker struct {
	tar  *tar.Reader
	root *os.Root
	read []File
	dirs map[string]bool // directories that were made
}

// all unpacks up to the manifest, which must be the last file, and compares the files with it.
func (u *unpacker) all() (Manifest, error) {
	for {
		header, err := u.tar.Next()
		if err == io.EOF {
			return Manifest{}, damaged("its manifest is missing, so the file is incomplete")
		}
		if err != nil {
			return Manifest{}, damaged("after %d files: %w", len(u.read), err)
		}
		if err := check(header); err != nil {
			return Manifest{}, err
		}
		if header.Name == manifestName {
			return u.manifest()
		}
		if len(u.read) == maxFiles {
			return Manifest{}, damaged("it has more than %d files", maxFiles)
		}
		if err := fits(u.root.Name(), header); err != nil {
			return Manifest{}, err
		}
		if err := u.file(header); err != nil {
			return Manifest{}, err
		}
	}
}

// check refuses everything but regular files under names that a backup has. Sparse files are regular to tar, and may
// have any size without a byte in the archive.
func check(h *tar.Header) error {
	if h.Typeflag != tar.TypeReg {
		return damaged("%q is not a regular file", h.Name)
	}
	for key := range h.PAXRecords {
		if key != "path" && key != "size" {
			return damaged("%q has an unexpected attribute %q", h.Name, key)
		}
	}
	limit := h.Size
	switch {
	case h.Name == manifestName:
		limit = maxManifest
	case h.Name == tokenName || h.Name == configName:
		limit = maxSetting
	case h.Name == outboxName: // as large as the disk allows
	default:
		room, file, ok := inRoom(h.Name)
		if _, err := mail.ParseRoom(room); !ok || err != nil || !jsonl.InSnapshot(file) && !isKept(file) {
			return damaged("this version knows no file %q in a data directory", h.Name)
		}
	}
	if h.Size > limit {
		return damaged("%q is too large (%d bytes)", h.Name, h.Size)
	}
	return nil
}

// fits refuses a file that does not fit on the disk of dir, before its first byte is written. A kilobyte of the
// archive can hold a megabyte, so unpacking without this check may fill the disk.
func fits(dir string, h *tar.Header) error {
	free, total, err := durable.Space(dir)
	if err != nil {
		return err
	}
	if left := usable(free, total); h.Size > left {
		return mail.Errorf(mail.TooLarge, "%q in the backup has %d bytes, but on the disk of %s a restore may use "+
			"only %d more", h.Name, h.Size, dir, left)
	}
	return nil
}

// usable is how many of a disk's free bytes a restore may fill: a twentieth of the disk, at most a gigabyte, is left
// for other programs.
func usable(free, total int64) int64 {
	return max(free-min(total/20, 1<<30), 0)
}

func inRoom(name string) (room, file string, ok bool) {
	rest, ok := strings.CutPrefix(name, roomsName+"/")
	room, file, cut := strings.Cut(rest, "/")
	return room, file, ok && cut
}

func (u *unpacker) file(h *tar.Header) error {
	if err := u.makeDir(filepath.Dir(filepath.FromSlash(h.Name))); err != nil {
		return err
	}
	f, err := u.root.OpenFile(filepath.FromSlash(h.Name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return damaged("%q is in it twice", h.Name)
	}
	if err != nil {
		return err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(f, io.TeeReader(source{u.tar}, sum)); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	u.read = append(u.read, File{h.Name, h.Size, hex.EncodeToString(sum.Sum(nil))})
	return f.Close()
}

// source marks errors of the archive, which distinguishes them from errors of the disk that is written to.
type source struct{ io.Reader }

func (s source) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if err != nil && err != io.EOF {
		err = damaged("%w", err)
	}
	return n, err
}

func (u *unpacker) makeDir(dir string) error {
	if u.dirs[dir] {
		return nil
	}
	if err := u.makeDir(filepath.Dir(dir)); err != nil {
		return err
	}
	u.dirs[dir] = true
	return u.root.Mkdir(dir, 0o700)
}

func (u *unpacker) manifest() (m Manifest, err error) {
	text, err := io.ReadAll(source{u.tar})
	if err != nil {
		return m, err
	}
	if err := jsonx.Unmarshal(text, &m); err != nil {
		return m, damaged("its manifest is invalid: %s", jsonx.Explain(err))
	}
	if m.Format != format {
		return m, damaged("it has format %d, but this version reads format %d; it was written by Pennypost %s",
			m.Format, format, m.Version)
	}
	if i := firstDifference(m.Files, u.read); i >= 0 {
		if i < len(u.read) {
			return m, damaged("%q does not match the manifest", u.read[i].Name)
		}
		return m, damaged("%q is missing", m.Files[i].Name)
	}
	if _, err := u.tar.Next(); err != io.EOF {
		return m, damaged("data follows its manifest")
	}
	return m, nil
}

// firstDifference returns the index of the first difference between two lists, -1 if there is none.
func firstDifference(a, b []File) int {
	for i := range max(len(a), len(b)) {
		if i >= len(a) || i >= len(b) || a[i] != b[i] {
			return i
		}
	}
	return -1
}

// sync makes the names of the files durable.
func (u *unpacker) sync() error {
	for dir := range u.dirs {
		if err := durable.SyncDir(filepath.Join(u.root.Name(), dir)); err != nil {
			return err
		}
	}
	return nil
}

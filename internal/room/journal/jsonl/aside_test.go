package jsonl

import (
	"path/filepath"
	"strings"
	"testing"

	"pennypost/internal/mail"
	"pennypost/internal/room/journal"
)

// watchedDisk records the largest unsynced write of a compaction, and the bytes that it writes while appends wait.
type watchedDisk struct {
	osDisk
	j                *Journal
	unsynced, behind int
}

func (d *watchedDisk) Open(path string, flag int) (file, error) {
	f, err := d.osDisk.Open(path, flag)
	if err == nil && (filepath.Base(path) == mainName+tmpSuffix || filepath.Base(filepath.Dir(path)) == archiveName) {
		return &watchedFile{file: f, disk: d, replaces: strings.HasSuffix(path, tmpSuffix)}, nil
	}
	return f, err
}

func (d *watchedDisk) Leads(path string, to file) (size int64, leads bool) {
	if f, ok := to.(*watchedFile); ok {
		to = f.file
	}
	return d.osDisk.Leads(path, to)
}

type watchedFile struct {
	file
	disk     *watchedDisk
	replaces bool // the new main file, and stays true once it is the main file
	unsynced int
}

func (f *watchedFile) WriteAt(b []byte, off int64) (int, error) {
	f.unsynced += len(b)
	f.disk.unsynced = max(f.disk.unsynced, f.unsynced)
	if f.disk.j.mu.Lock(); f.replaces && f.disk.j.led {
		f.disk.behind += len(b)
	}
	f.disk.j.mu.Unlock()
	return f.file.WriteAt(b, off)
}

func (f *watchedFile) Sync() error {
	f.unsynced = 0
	return f.file.Sync()
}

// TestCompactionKeepsAside checks that appends wait only while the last events appended during a compaction are
// copied, and that a compaction never leaves much unsynced data for the disk to write.
func TestCompactionKeepsAside(t *testing.T) {
	d := &watchedDisk{}
	j := openDir(t, t.TempDir(), Options{disk: d})
	d.j = j
	large := strings.Repeat("x", 100_000)
	add := func(n int) {
		for i := range n {
			e := note(i)
			e.Message.Body = large
			if _, err := j.Append(t.Context(), e); err != nil {
				t.Fatal(err)
			}
		}
	}
	add(60)
	asked := 0
	err := j.Compact(t.Context(), func(e mail.Event) journal.Fate {
		if asked++; asked == 1 {
			add(20)
		}
		return noteFate(e)
	})
	if err != nil {
		t.Fatal(err)
	}
	if d.behind > 1<<17 {
		t.Errorf("appends waited for %d bytes", d.behind)
	}
	if most := outputBuffer + chunkSize + len(large)*2; d.unsynced > most {
		t.Errorf("%d bytes were written and not synced, want %d at most", d.unsynced, most)
	}
}

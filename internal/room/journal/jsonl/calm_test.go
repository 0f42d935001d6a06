package jsonl

import (
	"bytes"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// lookedAt is a disk that counts checks of the main file's path.
type lookedAt struct {
	*memDisk
	looks atomic.Int64
}

func (d *lookedAt) Leads(path string, to file) (int64, bool) {
	d.looks.Add(1)
	return d.memDisk.Leads(path, to)
}

// TestP12_CalmJournalsCostLittle checks that the files of a calm journal are checked every ten seconds, and restored
// within that time, and that they are checked within a second of an append.
func TestP12_CalmJournalsCostLittle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &lookedAt{memDisk: newMemDisk()}
		j, err := Open(memPath, Options{disk: d})
		if err != nil {
			t.Fatal(err)
		}
		defer j.Close()
		lastSays := func() []byte { return d.content(j.path(lastName)) }
		for n := range 3 {
			if _, err := j.Append(t.Context(), note(n)); err != nil {
				t.Fatal(err)
			}
			before := lastSays()
			time.Sleep(time.Second)
			synctest.Wait()
			if n > 0 && bytes.Equal(lastSays(), before) {
				t.Error("a second after an append it is not written down how far the journal has come")
			}
			time.Sleep(15 * time.Second)
			looks := d.looks.Load()
			time.Sleep(100 * time.Second)
			if n := d.looks.Load() - looks; n < 9 || n > 11 {
				t.Errorf("in 100 seconds without an append the files were looked at %d times, want 10", n)
			}
		}
		want := string(d.content(mainPath))
		if err := d.Remove(mainPath); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if got := string(d.content(mainPath)); got != want {
			t.Errorf("ten seconds after the file was removed it is %q, want %q", got, want)
		}
	})
}

// TestOpenedWithoutSync checks that a closed journal opens without a sync, for which a thousand rooms would wait after
// a restart, and that Open syncs when it is not certain that all of the file is on the disk.
func TestOpenedWithoutSync(t *testing.T) {
	// work opens the journal, appends events, and returns how many syncs of the main file Open made.
	work := func(d *memDisk, from, events int) (j *Journal, syncs int) {
		t.Helper()
		before := len(d.trace)
		j, err := openMem(d)
		if err != nil {
			t.Fatal(err)
		}
		for _, call := range d.trace[before:] {
			if strings.HasSuffix(call, "sync mailbox.jsonl") {
				syncs++
			}
		}
		for n := range events {
			if _, err := j.Append(t.Context(), note(from+n)); err != nil {
				t.Fatal(err)
			}
		}
		return j, syncs
	}
	d := newMemDisk()
	j, _ := work(d, 0, 3)
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	j, syncs := work(d, 3, 0)
	if before := len(d.trace); syncs != 0 || j.Close() != nil || len(d.trace) != before {
		t.Errorf("closed, then opened with %d syncs and closed again: %q", syncs, d.trace[before:])
	}
	work(d, 3, 1) // then killed
	d = d.survive()
	if j, syncs = work(d, 4, 0); syncs != 1 {
		t.Errorf("killed behind what was noted, then opened with %d syncs", syncs)
	}
	end := j.lastItem()
	end.crc++
	d.put(j.path(lastName), end.lastLine()) // of another journal of the same length
	d = d.survive()
	if _, syncs = work(d, 4, 0); syncs != 1 {
		t.Errorf("where another line was noted it is opened with %d syncs", syncs)
	}
}

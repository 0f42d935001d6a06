package jetstream

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"pennypost/internal/base/durable"
	"pennypost/internal/mail"
	"pennypost/internal/room/journal"
)

// fetchingName is a file in the directory of a copy. While it exists, the hot events include some that belong in the
// archive, with which the room was moved to the servers. If interrupted then, the copy is fetched again.
const fetchingName = "fetching"

// removePartialCopy removes a partly fetched copy and its archive. The stream has all of it.
func removePartialCopy(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, fetchingName)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var errs []error
	for _, name := range []string{"mailbox.jsonl", "mailbox.last", "archive", "index", pointsName, ringsName} {
		errs = append(errs, os.RemoveAll(filepath.Join(dir, name)))
	}
	if err := errors.Join(append(errs, durable.SyncDir(dir))...); err != nil {
		return fmt.Errorf("fetch the room again: %w", err)
	}
	return os.Remove(filepath.Join(dir, fetchingName))
}

// fetching reports whether the copy must catch up with the stream before it can be used.
func (j *Journal) fetching() bool {
	j.placing.Lock()
	defer j.placing.Unlock()
	return j.cold != nil
}

// noteCold notes which of the delivered messages belong in the archive, before they are placed.
func (j *Journal) noteCold(some []arrival) error {
	j.placing.Lock()
	defer j.placing.Unlock()
	for _, a := range some {
		if !a.archived {
			continue
		}
		if j.cold == nil {
			if err := durable.WriteFile(filepath.Join(j.dir, fetchingName), nil, 0o600); err != nil {
				return err
			}
			j.cold = make(map[mail.Seq]bool)
		}
		j.cold[a.seq] = true
	}
	return nil
}

// putAway moves events that belong in the archive there, once the follower has caught up with the stream. No one has
// read the copy before that.
func (j *Journal) putAway(ctx context.Context) error {
	j.mu.Lock()
	current := j.current
	j.mu.Unlock()
	j.placing.Lock()
	cold := j.cold
	j.placing.Unlock()
	if cold == nil || !current {
		return nil
	}
	err := j.local.Compact(ctx, func(e mail.Event) journal.Fate {
		if cold[e.Seq] {
			return journal.Archive
		}
		return journal.Keep
	})
	if err != nil {
		return fmt.Errorf("write archived mail to the archive: %w", err)
	}
	j.placing.Lock()
	j.cold = nil
	j.placing.Unlock()
	return os.Remove(filepath.Join(j.dir, fetchingName))
}

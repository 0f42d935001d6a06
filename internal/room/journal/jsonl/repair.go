package jsonl

import (
	"context"
	"crypto/sha256"
	"fmt"

	"pennypost/internal/mail"
)

// Repair implements journal.Verifier.
func (j *Journal) Repair(ctx context.Context) (mail.Verification, error) {
	if err := j.becomeKeeper(ctx); err != nil {
		return mail.Verification{}, err
	}
	defer j.endKeeping()
	repaired, err := j.repair(ctx)
	if err != nil {
		return mail.Verification{}, fmt.Errorf("repair journal: %w", err)
	}
	v, err := j.verify(ctx)
	v.Repaired = repaired
	return v, err
}

func (j *Journal) repair(ctx context.Context) (repaired int, err error) {
	if err := j.usable(); err != nil {
		return 0, err
	}
	if err := j.undoArchive(); err != nil {
		return 0, err
	}
	if repaired, err = j.repairMain(ctx); err != nil {
		return repaired, err
	}
	return repaired, j.forgetCopies()
}

// repairMain sets aside bad lines, puts back lines that fit, and marks missing ranges. Appends wait meanwhile.
func (j *Journal) repairMain(ctx context.Context) (repaired int, err error) {
	j.takeLead()
	defer j.giveLead()
	if err := j.stayOpen(); err != nil {
		return 0, err
	}
	s, err := surveyAll(j.file)
	if err != nil {
		return 0, err
	}
	lines, err := j.spareLines(ctx)
	if err != nil {
		return 0, err
	}
	m, err := j.mend(s, lines, j.lastItem(), 0)
	if err != nil || !m.changed {
		return 0, err
	}
	mended, err := j.replaceMain(m.pieces, false)
	if err != nil {
		return 0, err
	}
	return mended.events - s.events, nil
}

// spareLines returns the events in the files that were set aside.
func (j *Journal) spareLines(ctx context.Context) (lines []spare, err error) {
	err = j.eachSetAside(func(name string, l line) error {
		from := foreign
		if name == rejectedName {
			from = rejected
		}
		for _, good := range (&badLine{line: l}).salvage() {
			if good.gone == "" {
				good.from = from
				lines = append(lines, good)
			}
		}
		return j.stopped(ctx)
	})
	return lines, err
}

func (j *Journal) eachSetAside(f func(name string, l line) error) error {
	names, err := j.foreigners()
	if err != nil {
		return err
	}
	return j.eachLineOf(append([]string{rejectedName}, names...), f)
}

// forgetCopies removes from the files that were set aside the lines that the journal or the archive holds, byte for
// byte.
func (j *Journal) forgetCopies() error {
	copies := make(map[[sha256.Size]byte]bool) // false: found nowhere else
	names := make(map[string]bool)
	err := j.eachSetAside(func(name string, l line) error {
		copies[sha256.Sum256(l.text)] = false
		names[name] = true
		return nil
	})
	if err != nil || len(copies) == 0 {
		return err
	}
	months, err := j.months()
	if err != nil {
		return err
	}
	err = j.eachLineOf(append([]string{mainName}, months...), func(_ string, l line) error {
		sum := sha256.Sum256(l.text)
		if _, aside := copies[sum]; aside {
			copies[sum] = true
		}
		return nil
	})
	if err != nil {
		return err
	}
	for name := range names {
		gone, left, err := j.sift(name, func(l line) (bool, []byte, error) {
			return copies[sha256.Sum256(l.text)], nil, nil
		})
		if err == nil && gone > 0 && left == 0 && name != rejectedName {
			if err = j.disk.Remove(j.path(name)); err == nil {
				err = j.disk.SyncDir(j.dir)
			}
		}
		if err != nil {
			return err
		}
	}
	j.countAside(0)
	return nil
}

package jsonl

import "errors"

// What strangers do to the main file.
var (
	// errSecondWriter means that the lock does not work: two post offices write to one file.
	errSecondWriter = errors.New(
		"another process has written events to the mailbox file; two post offices must not share it")
	// errChanged means that lines of ours are not where they were.
	errChanged = errors.New("the mailbox file was changed")
)

// afterStrangers returns where the file ends: at size, unless somebody else wrote to it, which the lock cannot
// hinder. What was added by hand stays, as a line of its own that cannot be read. What was taken away is put back, as
// far as that is known. But a file that got events from elsewhere is not ours to go on with. The caller leads.
func (j *Journal) afterStrangers(size int64) (int64, error) {
	now, err := j.file.Size()
	if err != nil {
		return 0, j.poison(err)
	}
	if now == size {
		return size, nil
	}
	end := j.lastItem()
	err = errChanged
	if now > size {
		err = scan(j.file, size, now, func(l line) error {
			switch seq, _, err := check(l.text); {
			case err != nil:
				return nil
			case seq <= end.end:
				return errChanged
			}
			return errSecondWriter
		})
	}
	switch {
	case errors.Is(err, errChanged):
		if err := j.bringBack(max(now, size), end, nil); err != nil {
			return 0, err
		}
		return j.size, nil // only who leads changes it
	case errors.Is(err, errSecondWriter):
		j.mu.Lock()
		j.shared = true
		j.mu.Unlock()
		return 0, j.poison(err)
	case err != nil:
		return 0, j.poison(err)
	}
	j.log.Warn("somebody else has written to the mailbox file; what they wrote is kept as it is", "offset", size,
		"bytes", now-size)
	o := output{file: j.file, off: now}
	if err := o.endLine(j.file, now); err != nil {
		return 0, j.poison(err)
	}
	if err := o.flush(); err != nil {
		return 0, j.refuse(err)
	}
	return o.end(), nil
}

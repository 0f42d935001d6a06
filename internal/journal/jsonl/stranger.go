package jsonl

import "errors"

// errSecondWriter means that the lock does not work: two post offices write to one file.
var errSecondWriter = errors.New("another process has written events to the mailbox file; two post offices must not share it")

// afterStrangers returns where the file ends: at size, unless somebody else wrote to it, which the lock cannot hinder. What was added
// by hand stays, as a line of its own that cannot be read; but a file that lost its end, or got events from elsewhere, is not ours to go on with.
func (j *Journal) afterStrangers(size int64) (int64, error) {
	now, err := j.file.Size()
	if err != nil || now == size {
		return size, err
	}
	if now < size {
		return 0, errors.New("somebody has cut off the end of the mailbox file")
	}
	err = scan(j.file, size, now, func(l line) error {
		if _, _, err := check(l.text); err == nil {
			return errSecondWriter
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	j.log.Warn("somebody else has written to the mailbox file; what they wrote is kept as it is", "offset", size, "bytes", now-size)
	o := output{file: j.file, off: now}
	if err := o.endLine(j.file, now); err != nil {
		return 0, err
	}
	return o.end(), o.flush()
}

package jsonl

import (
	"context"
	"errors"
	"fmt"
	"os"

	"pennypost/internal/journal"
	"pennypost/internal/mail"
)

var _ journal.Verifier = (*Journal)(nil)

// maxProblems bounds the list; a file with more is damaged as a whole.
const maxProblems = 1000

// errUnknown does not say more, because what jsonx says may quote the message.
var errUnknown = errors.New("it is intact, but says something that this version cannot read")

// Verify implements journal.Verifier. It reads every line of every file again. Lines that were set aside are problems too.
func (j *Journal) Verify(ctx context.Context) (mail.Verification, error) {
	if err := j.becomeKeeper(ctx); err != nil {
		return mail.Verification{}, err
	}
	defer j.endKeeping()
	names, err := j.months()
	if err != nil {
		return mail.Verification{}, fmt.Errorf("verify journal: %w", err)
	}
	v := verifier{journal: j}
	for _, name := range append([]string{mainName, rejectedName}, names...) {
		if err := v.file(ctx, name); err != nil && !isNotExist(err) {
			return v.Verification, fmt.Errorf("verify %s: %w", name, err)
		}
	}
	return v.Verification, nil
}

type verifier struct {
	mail.Verification
	journal *Journal
	parse   parser
}

func (v *verifier) file(ctx context.Context, name string) error {
	f, err := v.journal.disk.Open(v.journal.path(name), os.O_RDONLY)
	if err != nil {
		return err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return err
	}
	if name == mainName {
		size, _ = v.journal.Size() // without the batch that is being written
	}
	v.Files++
	v.Bytes += size
	judge := v.judge(name)
	return scan(f, firstLine(f), size, func(l line) error {
		v.Lines++
		err := judge(l)
		if err == nil && !l.whole {
			err = errors.New("it does not end with a newline")
		}
		v.note(name, l, err)
		return v.journal.stopped(ctx)
	})
}

// judge returns a function that says what is wrong with one line after the other of a file.
func (v *verifier) judge(name string) func(line) error {
	last, seen := mail.Seq(0), make(map[mail.Seq]bool)
	return func(l line) error {
		seq, covered, err := check(l.text)
		switch {
		case name == rejectedName && err != nil:
			return fmt.Errorf("it was set aside: %w", err)
		case name == rejectedName:
			return errors.New("it was set aside: its seq did not rise")
		case err != nil:
			return err
		case name == mainName && seq <= last:
			return fmt.Errorf("its seq %d does not rise above %d", seq, last)
		case seen[seq]:
			return fmt.Errorf("its seq %d stands in this file twice", seq)
		case name != mainName: // the archive is in the order of compactions
			seen[seq] = true
		}
		last = seq
		if _, err := v.parse.read(seq, covered); err != nil {
			return errUnknown
		}
		return nil
	}
}

func (v *verifier) note(name string, l line, err error) {
	switch {
	case err == nil || len(v.Problems) > maxProblems:
	case len(v.Problems) == maxProblems:
		v.Problems = append(v.Problems, mail.Problem{File: name, Line: l.num, Text: "there are more problems, which are not listed"})
	default:
		v.Problems = append(v.Problems, mail.Problem{File: name, Line: l.num, Text: err.Error()})
	}
}

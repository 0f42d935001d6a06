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
	seen := make(map[mail.Seq]bool)
	last := mail.Seq(0)
	return scan(f, firstLine(f), size, func(l line) error {
		v.Lines++
		seq, covered, err := check(l.text)
		switch {
		case name == rejectedName && err != nil:
			err = fmt.Errorf("it was set aside: %w", err)
		case name == rejectedName:
			err = errors.New("it was set aside: its seq did not rise")
		case err != nil:
		case name == mainName && seq <= last:
			err = fmt.Errorf("its seq %d does not rise above %d", seq, last)
		case name != mainName && seen[seq]:
			err = fmt.Errorf("its seq %d stands in this file twice", seq)
		default:
			if last = seq; name != mainName {
				seen[seq] = true
			}
			err = v.content(seq, covered)
		}
		if err == nil && !l.whole {
			err = errors.New("it does not end with a newline")
		}
		v.note(name, l, err)
		return v.journal.stopped(ctx)
	})
}

func (v *verifier) content(seq mail.Seq, covered []byte) error {
	if _, err := v.parse.read(seq, covered); err != nil {
		return errUnknown
	}
	return nil
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

package jsonl

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"pennypost/internal/base/durable"
	"pennypost/internal/mail"
	"pennypost/internal/room/journal"
)

var _ journal.Verifier = (*Journal)(nil)

// maxProblems bounds the list; a file with more is damaged as a whole.
const maxProblems = 1000

// errUnknown omits the error of jsonx, which may quote the message.
var errUnknown = errors.New("it is intact, but this version cannot read its content")

// Verify implements journal.Verifier. It reads every line of every file again, then follows the chain through journal
// and archive. Lines that were set aside are problems too.
func (j *Journal) Verify(ctx context.Context) (mail.Verification, error) {
	if err := j.becomeKeeper(ctx); err != nil {
		return mail.Verification{}, err
	}
	defer j.endKeeping()
	return j.verify(ctx)
}

func (j *Journal) verify(ctx context.Context) (mail.Verification, error) {
	names, odd, err := j.listMonths()
	if err != nil {
		return mail.Verification{}, fmt.Errorf("verify journal: %w", err)
	}
	foreign, err := j.foreigners()
	if err != nil {
		return mail.Verification{}, fmt.Errorf("verify journal: %w", err)
	}
	files := slices.Concat([]string{mainName, rejectedName}, names, odd)
	v := verifier{journal: j}
	if err = v.files(ctx, files); err == nil && v.overlap {
		v = verifier{journal: j, exact: true}
		err = v.files(ctx, files)
	}
	if err != nil {
		return v.Verification, err
	}
	for _, name := range foreign {
		v.problem(mail.Problem{File: name,
			Text: "this file replaced the journal and was set aside. To recover its useful lines: pennypost verify " +
				"--repair"})
	}
	if err := v.whose(ctx, names); err != nil {
		return v.Verification, fmt.Errorf("verify journal: %w", err)
	}
	return v.Verification, nil
}

type verifier struct {
	mail.Verification
	journal *Journal
	parse   parser
	streaks []streak            // lines found in journal and archive
	marked  map[mail.Seq]linked // stubs for missing ranges, by their last sequence number
	claimed map[mail.Seq]bool   // sequence numbers in lines that are problems themselves

	// Whole streaks take next to no memory. They reveal that a sequence number occurs twice, but not in which lines:
	// for that a second pass makes each line a streak.
	exact, overlap bool
}

// streak is a run of consecutive lines of a file.
type streak struct {
	linked      // the first
	last   item // the last, which may be the same
}

// linked is a link of the chain with its file and line number.
type linked struct {
	item
	file string
	num  int
}

// files reads each file, and follows the chain through all of them.
func (v *verifier) files(ctx context.Context, names []string) error {
	v.claimed, v.marked = make(map[mail.Seq]bool), make(map[mail.Seq]linked)
	for _, name := range names {
		err := v.file(ctx, name)
		if _, irregular := errors.AsType[*durable.IrregularError](err); irregular {
			v.problem(mail.Problem{File: name, Text: err.Error()})
		} else if err != nil && !isNotExist(err) {
			return fmt.Errorf("verify %s: %w", name, err)
		}
	}
	v.chain()
	return nil
}

func (v *verifier) file(ctx context.Context, name string) error {
	judge := v.judge(name)
	size, err := v.journal.eachLine(name, func(l line) error {
		v.Lines++
		err := judge(l)
		if err == nil && !l.whole {
			err = errors.New("it does not end with a newline")
		}
		if err != nil {
			if seq, bad := leadingSeq(l.text); bad == nil {
				v.claimed[seq] = true
			}
			v.problem(mail.Problem{File: name, Line: l.num, Text: err.Error()})
		}
		return v.journal.stopped(ctx)
	})
	if err == nil {
		v.Files++
		v.Bytes += size
	}
	return err
}

// judge returns a function that returns the defect of each line of a file, called in order.
func (v *verifier) judge(name string) func(line) error {
	last, seen := mail.Seq(0), make(map[mail.Seq]bool)
	return func(l line) error {
		it, covered, err := inspect(l.text)
		switch {
		case name == rejectedName && err != nil:
			return fmt.Errorf("it was set aside: %w", err)
		case name == rejectedName:
			return errors.New("it was set aside: its seq is not greater than the one before")
		case err != nil:
			return err
		case name == mainName && it.seq <= last:
			return fmt.Errorf("its seq %d is not greater than %d", it.seq, last)
		case seen[it.seq]:
			return fmt.Errorf("its seq %d occurs twice in this file", it.seq)
		case name != mainName && v.exact: // the archive is in the order of compactions
			seen[it.seq] = true
		}
		last = it.end
		switch it.gone {
		case missing:
			v.marked[it.end] = linked{it, name, l.num}
			return nil
		case archived: // the lines in the archive count for themselves
			return nil
		}
		v.link(linked{it, name, l.num})
		if it.gone != "" {
			return nil
		}
		if _, err := v.parse.read(it.seq, covered); err != nil {
			return errUnknown
		}
		return nil
	}
}

// link adds a line to the streak that it continues, or begins one with it.
func (v *verifier) link(next linked) {
	if n := len(v.streaks); n > 0 && !v.exact {
		s := &v.streaks[n-1]
		if s.file == next.file && next.seq == s.last.end+1 && s.last.linkTo(&next.item) == follows {
			s.last = next.item
			return
		}
	}
	v.streaks = append(v.streaks, streak{linked: next, last: next.item})
}

// problem adds p to the list.
func (v *verifier) problem(p mail.Problem) {
	switch {
	case len(v.Problems) > maxProblems:
	case len(v.Problems) == maxProblems:
		v.Problems = append(v.Problems,
			mail.Problem{File: p.File, Line: p.Line, Text: "there are more problems, which are not listed"})
	default:
		v.Problems = append(v.Problems, p)
	}
}

// chain follows the lines of journal and archive in sequence, and names the ranges missing between and after them.
func (v *verifier) chain() {
	slices.SortStableFunc(v.streaks, func(a, b streak) int { return cmp.Compare(a.seq, b.seq) })
	var last item
	file := ""
	for _, next := range v.streaks {
		if next.seq <= last.end {
			v.overlap = true
			if next.file != file {
				v.problem(mail.Problem{File: next.file, Line: next.num,
					Text: fmt.Sprintf("its seq %d is also in %s", next.seq, file)})
			}
			continue
		}
		switch older := last.chained && !next.chained && next.seq != last.end+1; {
		case last.linkTo(&next.item) == differs:
			v.problem(mail.Problem{File: next.file, Line: next.num,
				Text: "it does not follow the line before it: another line was there"})
		case last.linkTo(&next.item) == gap || older:
			v.lost(&last, last.lost(&next.item), next.linked)
		}
		last, file = next.last, next.file
	}
	end := linked{file: mainName}
	for _, stub := range v.marked {
		if stub.end > end.end {
			end = stub
		}
	}
	if end.known > last.end {
		end.seq = last.end + 1
		v.lost(&last, end.item, end)
	}
}

// lost names the range missing before the line at, unless damaged lines that are named themselves account for it.
func (v *verifier) lost(before *item, stub item, at linked) {
	if marked, ok := v.marked[stub.end]; ok {
		stub.known, stub.when, at = marked.known, marked.when, marked
	}
	if stub.known < stub.seq {
		return // sequence numbers that were never assigned
	}
	accounted := true
	for seq := stub.seq; seq <= stub.known && accounted; seq++ {
		accounted = v.claimed[seq]
	}
	if !accounted {
		v.problem(mail.Problem{File: at.file, Line: at.num, Text: absenceText(before, &stub), First: stub.seq,
			Last: stub.known})
	}
}

// whose adds to each missing range the messages that later lines refer to and that are in no file, each with its
// recipients or readers.
func (v *verifier) whose(ctx context.Context, months []string) error {
	if !slices.ContainsFunc(v.Problems, func(p mail.Problem) bool { return p.First != 0 }) {
		return nil
	}
	there := make(map[mail.ID]bool)
	var said []trace
	err := v.journal.eachLineOf(append([]string{mainName}, months...), func(_ string, l line) error {
		if seq, covered, err := check(l.text); err == nil {
			said = traces(said, there, v.parse.decode(seq, covered))
		}
		return v.journal.stopped(ctx)
	})
	if err != nil {
		return err
	}
	slices.SortStableFunc(said, func(a, b trace) int { return cmp.Compare(a.seq, b.seq) })
	told := make(map[mail.ID]bool)
	lines := make(map[int][]string) // by problem
	for _, t := range said {
		if i := v.rangeBefore(t.seq); i >= 0 && !there[t.id] && !told[t.id] {
			told[t.id] = true
			lines[i] = append(lines[i], fmt.Sprintf("%s (%s)", t.id, t.who))
		}
	}
	for i, of := range lines {
		const most = 5
		more := ""
		if len(of) > most {
			of, more = of[:most], fmt.Sprintf(" and %d more", len(of)-most)
		}
		v.Problems[i].Text += "; messages that later lines mention but that are missing: " +
			strings.Join(of, ", ") + more
	}
	return nil
}

// trace is a line's reference to an earlier message.
type trace struct {
	seq mail.Seq
	id  mail.ID
	who string
}

// traces adds the references in e to other messages, and notes which messages exist or were erased.
func traces(said []trace, there map[mail.ID]bool, e mail.Event) []trace {
	switch {
	case e.Message != nil:
		there[e.Message.ID] = true
	case e.Erased != nil:
		there[e.Erased.Message] = true
	case e.Receipt != nil:
		said = append(said, trace{e.Seq, e.Receipt.Message, string(e.Receipt.Mark) + " by " +
			string(e.Receipt.Reader)})
	case e.Checkpoint != nil:
		for _, b := range e.Checkpoint.Bound {
			for _, to := range b.To {
				said = append(said, trace{e.Seq, b.Message, "to " + string(to.Address)})
			}
		}
	}
	return said
}

// rangeBefore returns the index of the problem of the last missing range before seq, -1 if there is none.
func (v *verifier) rangeBefore(seq mail.Seq) int {
	best := -1
	for i, p := range v.Problems {
		if p.First != 0 && p.First < seq && (best < 0 || p.First > v.Problems[best].First) {
			best = i
		}
	}
	return best
}

func inArchive(name string) bool { return path.Dir(name) == archiveName }

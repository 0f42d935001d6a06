package fence

import (
	"errors"
	"fmt"
	"slices"

	"pennypost/internal/base/wording"
	"pennypost/internal/mail"
)

// MaxLetter is how many bytes, as Sent counts, an answer may have that is one letter. It keeps the line of the
// protocol below 1 MiB, which is what clients and our own servers read.
const MaxLetter = 900_000

// Letters are those that an answer in JSON may show, in a protocol that has no way to read a body in parts.
type Letters struct {
	Items  []mail.Item
	Reader mail.Name
	// Most is how many bytes of a body the answer may hold when it shows that letter alone. It is asked only if there
	// is a long one. Nil, or 0: no more than other answers.
	Most func() int
	// How says how the reader has one of several letters shown alone, in a few words. "" or nil: it cannot.
	How func(i int) string
}

// Shown is what an answer shows.
type Shown struct {
	Items []mail.Item // as they are to be shown, the first of Letters.Items
	Cut   []bool      // whether something of each was left out, which its body says then
}

// Whole returns the letters that were not cut.
func (s Shown) Whole() []mail.Item {
	var whole []mail.Item
	for i, it := range s.Items {
		if !s.Cut[i] {
			whole = append(whole, it)
		}
	}
	return whole
}

// AnyCut reports whether something was left out.
func (s Shown) AnyCut() bool { return slices.Contains(s.Cut, true) }

// FitLetters returns an answer. A single letter is shown whole. Of several, as many get a row as the budget allows:
// each is shown whole while there is room, in their order, and the others are cut.
func FitLetters[T any](s Letters, answer func(Shown) T) (out T, shown Shown, err error) {
	size := func(sh Shown) int {
		text, e := JSON(answer(sh))
		err = errors.Join(err, e)
		return Sent(text)
	}
	if len(s.Items) == 1 {
		shown = s.alone(size)
	} else {
		shown = s.several(size)
	}
	return answer(shown), shown, err
}

// alone shows the only letter.
func (s *Letters) alone(size func(Shown) int) Shown {
	it := s.Items[0]
	one := func(it mail.Item, cut bool) Shown { return Shown{[]mail.Item{it}, []bool{cut}} }
	if bulk(&it) <= Budget && size(one(it, false)) <= Budget {
		return one(it, false)
	}
	most, budget := s.most(), MaxLetter
	if most == 0 {
		most, budget = Budget, Budget
	}
	if within(&it, most) && size(one(it, false)) <= budget {
		return one(it, false)
	}
	f := form{subject: mail.MaxSubject, how: s.command(0)}
	k := longest(min(len(it.Body), most), budget, func(k int) int { return size(one(f.cut(it, k), true)) })
	return one(f.cut(it, k), true)
}

func (s *Letters) most() int {
	if s.Most == nil {
		return 0
	}
	return s.Most()
}

// within reports whether a letter is no longer than what is sent in a room with that limit of a body.
func within(it *mail.Item, most int) bool {
	return len(it.Body) <= most && bulk(it)-len(it.Body) <= mail.MaxMetadata+Budget
}

// Beside reports whether an answer can hold a letter whole beside others.
func Beside(it mail.Item) bool {
	const most = Budget * 3 / 4
	if bulk(&it) > most {
		return false
	}
	text, err := JSON(it.Message)
	return err == nil && Sent(text) <= most
}

// bulk is how many bytes the parts of a letter have that can be long.
func bulk(it *mail.Item) int {
	n := len(it.Body) + len(it.Metadata)
	for _, d := range it.Docs {
		n += len(d.Path) + len(d.Revision)
	}
	return n
}

// forBodies is the part of an answer that is kept for bodies when there are more letters than it has rows for.
const forBodies = Budget / 3

// several shows the first of several letters.
func (s *Letters) several(size func(Shown) int) Shown {
	empty := size(Shown{Cut: []bool{true}}) // with what an answer says if it cuts
	row := func(it mail.Item) int {
		// an answer that counts what is left may need a digit less for one
		return size(Shown{[]mail.Item{it}, []bool{true}}) - empty + len(",0")
	}
	var rows []*slot
	left := 0
	for _, tight := range []bool{false, true} {
		rows, left = s.rows(tight, Budget-empty, row)
		if len(rows) == len(s.Items) {
			break
		}
	}
	if len(rows) < len(s.Items) {
		rows, left = s.rows(true, Budget-empty-forBodies, row)
		left += forBodies
	}
	cut := 0
	for _, r := range rows {
		if more := r.whole - r.row; more <= left {
			left -= more
			r.fits = true
		} else {
			cut++
		}
	}
	var out Shown
	for i, r := range rows {
		it := s.Items[i]
		if !r.fits {
			it = r.form.cut(it, longest(min(len(it.Body), left), r.row+left/cut, func(k int) int {
				return row(r.form.cut(it, k))
			}))
		}
		out.Items, out.Cut = append(out.Items, it), append(out.Cut, !r.fits)
	}
	return out
}

// A slot is the place of a letter in an answer.
type slot struct {
	form  form
	row   int // bytes without a body
	whole int // bytes of the whole letter, more than any answer has if nobody counted them
	fits  bool
}

// rows returns the slots of the letters for whose rows there is room, and what of it they leave.
func (s *Letters) rows(tight bool, room int, size func(mail.Item) int) (rows []*slot, left int) {
	for i, it := range s.Items {
		r := &slot{form: form{subject: tightSubject}, whole: Budget + 1}
		if !tight {
			r.form = form{subject: wideSubject, how: s.how(i)}
		}
		if bulk(&it) <= Budget {
			r.whole = size(it)
		}
		r.row = min(size(r.form.cut(it, 0)), r.whole)
		if r.row > room {
			return rows, room
		}
		room -= r.row
		rows = append(rows, r)
	}
	return rows, room
}

// How many bytes of a subject stand in a row of a letter that is cut.
const (
	wideSubject  = 200
	tightSubject = 60
)

func (s *Letters) how(i int) string {
	if it := &s.Items[i]; s.How != nil && (bulk(it) <= Budget/2 || within(it, s.most())) {
		if how := s.How(i); how != "" {
			return how
		}
	}
	return s.command(i)
}

// command is the command that prints a letter whole.
func (s *Letters) command(i int) string {
	return "pennypost read " + wording.Shell(string(s.Items[i].ID)) + " --as " + wording.Shell(string(s.Reader))
}

// form is how a letter is cut.
type form struct {
	subject int    // how many bytes of it stay
	how     string // how the reader gets the whole
}

// cut returns the letter with the first k bytes of its body, or a little less, and with a last line that says so.
func (f form) cut(it mail.Item, k int) mail.Item {
	k = whole(it.Body, k)
	end := fmt.Sprintf("[Cut: %d of %d bytes", k, len(it.Body))
	if len(it.Metadata)+len(it.Docs) > 0 {
		end += ", without metadata and documents"
	}
	if f.how != "" {
		end += ". The whole: " + f.how
	}
	if k > 0 {
		end = it.Body[:k] + "\n\n" + end
	}
	it.Body, it.Docs, it.Metadata, it.To = end+"]", nil, nil, it.To[:min(len(it.To), 3)]
	it.Subject = wording.Clip(it.Subject, f.subject)
	return it
}

package fence

import (
	"errors"
	"fmt"
	"slices"

	"pennypost/internal/base/wording"
	"pennypost/internal/mail"
)

// MaxLetter is how many bytes, as Sent counts, an answer with a single letter may have. It keeps the protocol's line
// below 1 MiB, the limit of clients and of our own servers.
const MaxLetter = 900_000

// Letters are candidates for an answer in JSON, in a protocol that cannot read a body in parts.
type Letters struct {
	Items  []mail.Item
	Reader mail.Name
	// Most is how many bytes of a body the answer may hold when it shows that letter alone. It is called only for a
	// long letter. Nil, or 0: no more than other answers.
	Most func() int
	// How says in a few words how the reader can get one of several letters alone. "" or nil: there is no way.
	How func(i int) string
}

// Shown is the content of an answer.
type Shown struct {
	Items []mail.Item // as they will be shown, the first of Letters.Items
	Cut   []bool      // whether a part of each was left out, as its body then says
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

// AnyCut reports whether any letter was cut.
func (s Shown) AnyCut() bool { return slices.Contains(s.Cut, true) }

// FitLetters returns an answer. A single letter is shown whole. Of several, as many get a row as the budget allows:
// each is shown whole while space remains, in order, and the others are cut.
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

// within reports whether a letter is no longer than a room with that limit on bodies can send.
func within(it *mail.Item, most int) bool {
	return len(it.Body) <= most && bulk(it)-len(it.Body) <= mail.MaxMetadata+Budget
}

// Beside reports whether an answer can hold a letter whole together with others.
func Beside(it mail.Item) bool {
	const most = Budget * 3 / 4
	if bulk(&it) > most {
		return false
	}
	text, err := JSON(it.Message)
	return err == nil && Sent(text) <= most
}

// bulk is the number of bytes in the parts of a letter that can be long.
func bulk(it *mail.Item) int {
	n := len(it.Body) + len(it.Metadata)
	for _, d := range it.Docs {
		n += len(d.Path) + len(d.Revision)
	}
	return n
}

// forBodies is the part of an answer reserved for bodies when not all letters get a row.
const forBodies = Budget / 3

// several shows the first of several letters.
func (s *Letters) several(size func(Shown) int) Shown {
	empty := size(Shown{Cut: []bool{true}}) // with the text that an answer adds if it cuts
	row := func(it mail.Item) int {
		// the count of remaining letters may need one more digit
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

// A slot is a letter's share of an answer.
type slot struct {
	form  form
	row   int // bytes without a body
	whole int // bytes of the whole letter; if not counted, more than any answer has
	fits  bool
}

// rows returns the slots of the letters whose rows fit, and the remaining space.
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

// How many bytes of the subject a cut letter's row keeps.
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

// command returns the command that prints a letter whole.
func (s *Letters) command(i int) string {
	return "pennypost read " + wording.Shell(string(s.Items[i].ID)) + " --as " + wording.Shell(string(s.Reader))
}

// form is how a letter is cut.
type form struct {
	subject int    // how many bytes of it stay
	how     string // how the reader gets the whole letter
}

// cut returns the letter with the first k bytes of its body, or slightly fewer, and a last line that says so.
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

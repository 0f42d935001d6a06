package fence

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pennypost/internal/mail"
)

// shelved is an answer for tests.
type shelved struct {
	Messages []mail.Message `json:"messages"`
	Note     string         `json:"note,omitempty"`
}

func answerOf(s Shown) shelved {
	out := shelved{Messages: []mail.Message{}}
	for i := range s.Items {
		out.Messages = append(out.Messages, s.Items[i].Message)
	}
	if s.AnyCut() {
		out.Note = strings.Repeat("n", 200)
	}
	return out
}

func sentOf(t *testing.T, s shelved) int {
	t.Helper()
	text, err := JSON(s)
	if err != nil {
		t.Fatal(err)
	}
	return Sent(text)
}

// A letter alone is whole up to the limit of bodies; without a limit, up to the limit of any answer. A cut letter says
// so, and how its reader gets the whole.
func TestLettersAlone(t *testing.T) {
	docs := slices.Repeat([]mail.Doc{{Path: strings.Repeat("p", mail.MaxPath)}}, mail.MaxDocs)
	for _, c := range []struct {
		name string
		it   mail.Message
		most int
		cut  bool
		over bool // the budget of other answers
	}{
		{"short", mail.Message{Body: "x"}, 0, false, false},
		{"no limit is known", mail.Message{Body: strings.Repeat("小", 20_000)}, 0, true, false},
		{"within the limit", mail.Message{Body: strings.Repeat("小", 20_000)}, mail.MaxBody, false, true},
		{"brackets", mail.Message{Body: strings.Repeat("<", mail.MaxBody)}, mail.MaxBody, false, true},
		{"over the limit", mail.Message{Body: strings.Repeat("小", 30_000)}, mail.MaxBody, true, true},
		{"over what a line holds", mail.Message{Body: strings.Repeat("<", 1<<20)}, 16 << 20, true, true},
		{"documents", mail.Message{Body: "x", Docs: docs}, mail.MaxBody, true, false},
		{"metadata", mail.Message{Body: "x", Metadata: mail.Metadata(`{"k":"` + strings.Repeat("<", 15_000) + `"}`)},
			mail.MaxBody, false, true},
		{"foreign metadata", mail.Message{Body: "x", Metadata: mail.Metadata(`{"k":"` + strings.Repeat("<", 1<<19) +
			`"}`)}, mail.MaxBody, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.it.ID, c.it.To = "$(rm x)", slices.Repeat([]mail.Address{"agent:bob"}, 10)
			out, shown, err := FitLetters(Letters{Items: []mail.Item{{Message: c.it}}, Reader: "Bob's agent",
				Most: func() int { return c.most }}, answerOf)
			n, got := sentOf(t, out), out.Messages[0]
			if err != nil || n > MaxLetter || n > Budget != c.over || shown.AnyCut() != c.cut {
				t.Errorf("%d bytes, cut: %v, %v", n, shown.Cut, err)
			}
			if !c.cut && !reflect.DeepEqual(got, c.it) {
				t.Errorf("changed: %+v", got)
			}
			if c.cut && (!strings.HasSuffix(got.Body, `The whole: pennypost read '$(rm x)' --as 'Bob'\''s agent']`) ||
				!utf8.ValidString(got.Body) || !strings.HasPrefix(got.Body, c.it.Body[:1])) {
				t.Errorf("the body is %.100s", got.Body)
			}
		})
	}
}

// Each of several letters has a row, in order, while there is space for rows. Bodies are whole while there is space,
// and say if they are not.
func TestLettersSeveral(t *testing.T) {
	many := func(n, body int) []mail.Item {
		items := make([]mail.Item, n)
		for i := range items {
			items[i] = mail.Item{Message: mail.Message{ID: mail.ID(fmt.Sprintf("msg_%017d", i)), From: "agent:ann",
				Type: mail.Custom, To: []mail.Address{"agent:bob"}, Subject: strings.Repeat("s", 40),
				Body: strings.Repeat("b", body)}}
		}
		return items
	}
	long := many(2, 10)
	long[0].Body, long[1].Subject = strings.Repeat("<x>\n", 8<<10), strings.Repeat("S", mail.MaxSubject)
	heavy := many(3, 10)
	heavy[1].Metadata = mail.Metadata(`{"k":"` + strings.Repeat("v", 1<<20) + `"}`)
	for _, c := range []struct {
		name                    string
		items                   []mail.Item
		rows, atLeast, atLeast2 int // letters, whole ones, and bytes of the first body
	}{
		{"short ones", many(50, 10), 50, 50, 10},
		{"a long one before a short one", long, 2, 1, 1500},
		{"fifty of a page", many(50, 1200), 50, 0, 20},
		{"ten of a page", many(10, 1200), 10, 10, 1200},
		{"fifty that are long", many(50, 60<<10), 50, 0, 20},
		{"metadata", heavy, 3, 2, 10},
		{"a thousand", many(1000, 1200), 40, 2, 1200},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, shown, err := FitLetters(Letters{Items: c.items, Reader: "bob"}, answerOf)
			if n := sentOf(t, out); err != nil || n > Budget {
				t.Errorf("%d bytes, %v", n, err)
			}
			if n, whole := len(out.Messages), len(shown.Whole()); n < c.rows || whole < c.atLeast {
				t.Errorf("%d letters, of them whole %d", n, whole)
			}
			if n := strings.IndexByte(out.Messages[0].Body+"[", '['); n < c.atLeast2 {
				t.Errorf("%d bytes of the first body", n)
			}
			for i, m := range out.Messages {
				of := fmt.Sprintf(" of %d bytes", len(c.items[i].Body))
				if m.ID != c.items[i].ID || shown.Cut[i] != strings.Contains(m.Body, of) ||
					!shown.Cut[i] && !reflect.DeepEqual(m, c.items[i].Message) {
					t.Fatalf("%d, cut: %v: %.200v", i, shown.Cut[i], m)
				}
			}
		})
	}
}

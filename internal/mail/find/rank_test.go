package find

import (
	"strings"
	"testing"
)

func TestRank(t *testing.T) {
	far := strings.Repeat("and then ", 40)
	for _, c := range []struct {
		query, subject, body string
		want                 int
	}{
		{"parser port", "The port of the Parser", "", 2},
		{"parser port", "Parser", "which port does the parser take?", 1},
		{"parser port", "Parser", "port", 0},
		{"parser port", "", "the parser " + far + " a port", 0},
		{"parser port", "", "the parser " + far + " a port of the parser " + far, 1},
		{`"the parser" port`, "", "port: the\nparser", 1},
		{"x", "", "no words but x", 1},
	} {
		if got := Parse(c.query).Rank(c.subject, c.body); got != c.want {
			t.Errorf("Rank(%q, %q, %q) = %d, want %d", c.query, c.subject, c.body, got, c.want)
		}
	}
}

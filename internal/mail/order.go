package mail

import (
	"cmp"
	"strings"
)

// CompareNames orders names as people count: agent-2 comes before agent-10. Runs of digits compare as numbers, all
// else byte by byte. Only identical names are equal.
func CompareNames[S ~string](a, b S) int {
	x, y := string(a), string(b)
	for x != "" && y != "" {
		m, n := digits(x), digits(y)
		if m == 0 || n == 0 {
			if x[0] != y[0] {
				return cmp.Compare(x[0], y[0])
			}
			x, y = x[1:], y[1:]
			continue
		}
		p, q := strings.TrimLeft(x[:m], "0"), strings.TrimLeft(y[:n], "0")
		if c := cmp.Or(cmp.Compare(len(p), len(q)), cmp.Compare(p, q)); c != 0 {
			return c
		}
		x, y = x[m:], y[n:]
	}
	return cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(a, b)) // 01 and 1 are the same number but different names
}

// digits returns the number of digits at the beginning of s.
func digits(s string) (n int) {
	for n < len(s) && '0' <= s[n] && s[n] <= '9' {
		n++
	}
	return n
}

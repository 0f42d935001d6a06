package update

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"pennypost/internal/mail"
)

// Version is the version of a release in the form of Semantic Versioning 2.0.0, without build metadata.
type Version struct {
	numbers [3]int
	before  []string // the parts after "-", between dots; nil: not a pre-release
}

var versionForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^v(\d{1,9})\.(\d{1,9})\.(\d{1,9})(?:-([0-9A-Za-z]+(?:\.[0-9A-Za-z]+)*))?$`)
})

// ParseVersion reads the version of a release, such as v1.2.3 or v1.2.3-rc.1.
func ParseVersion(s string) (v Version, err error) {
	m := versionForm().FindStringSubmatch(s)
	if m == nil {
		return v, mail.Errorf(mail.Invalid, "%q is not a release version such as v1.2.3", s)
	}
	for i := range v.numbers {
		v.numbers[i], _ = strconv.Atoi(m[i+1])
	}
	if m[4] != "" {
		v.before = strings.Split(m[4], ".")
	}
	return v, nil
}

// Compare is negative if v is older than w.
func (v Version) Compare(w Version) int {
	switch by := slices.Compare(v.numbers[:], w.numbers[:]); {
	case by != 0:
		return by
	case v.before == nil || w.before == nil:
		return cmp.Compare(len(w.before), len(v.before))
	}
	return slices.CompareFunc(v.before, w.before, func(a, b string) int {
		x, number := strconv.Atoi(a)
		y, other := strconv.Atoi(b)
		switch {
		case number == nil && other == nil:
			return cmp.Compare(x, y)
		case (number == nil) != (other == nil): // numbers come first
			return cmp.Compare(b2i(number != nil), b2i(other != nil))
		}
		return cmp.Compare(a, b)
	})
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

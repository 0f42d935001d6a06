package update

import (
	"pennypost/internal/base/minisign"
	"pennypost/internal/mail"
)

// releaseKey is the public half of the key that signs releases, as `go run ./scripts/sign new` prints it. It is empty
// until a person has made one, and until then no release can be checked. Tests set it the way scripts/build sets the
// version.
var releaseKey string

// Key returns the key that signs releases.
func Key() (minisign.Key, error) {
	if releaseKey == "" {
		return minisign.Key{}, mail.Errorf(mail.Unavailable, "this program has no release key, so it cannot check "+
			"a release. Nothing was changed")
	}
	return minisign.ParseKey(releaseKey)
}

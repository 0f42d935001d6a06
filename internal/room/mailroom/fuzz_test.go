package mailroom

import (
	"encoding/base64"
	"testing"

	"pennypost/internal/mail"
)

// FuzzParseToken checks that no token, which anyone may present, opens a room whose name cannot be one.
func FuzzParseToken(f *testing.F) {
	for _, s := range []string{"pp." + base64.RawURLEncoding.EncodeToString([]byte("lab")) + ".SECRET", "pp..x",
		"pp.Li4.x", "pp.L2V0Yw.x", "pp-operator.X", "pp.bGFi.", "\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, token string) {
		room, sum, ok := ParseToken(token)
		if !ok {
			return
		}
		if again, err := mail.ParseRoom(string(room)); err != nil || again != room || len(sum) != 64 {
			t.Errorf("%q opens %q with the sum %q: %v", token, room, sum, err)
		}
	})
}

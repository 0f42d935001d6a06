package cli

import (
	"testing"

	"pennypost/internal/mail"
)

func TestRemoteNeedsTLS(t *testing.T) {
	for _, c := range []struct {
		address           string
		insecure, refused bool
	}{
		{"http://mail.example.org:8765", false, true}, {"http://192.0.2.7", false, true},
		{"http://localhost.example.org", false, true},
		{"http://127.0.0.1.example.org:8765", false, true}, {"HTTP://192.0.2.7:8765", false, true},
		{"http://127.0.0.1@192.0.2.7", false, true}, {"http://[fd00::1]:8765", false, true},
		{"http://192.0.2.7", true, false}, {"https://mail.example.org", false, false},
		{"http://127.0.0.1:8765", false, false}, {"http://127.8.0.1", false, false},
		{"http://[::1]:8765", false, false}, {"http://localhost:8765", false, false},
	} {
		err := checkRemote(c.address, c.insecure)
		if (err != nil) != c.refused {
			t.Errorf("checkRemote(%q, %v) = %v", c.address, c.insecure, err)
		}
		if err != nil && mail.CodeOf(err) != mail.Denied {
			t.Errorf("checkRemote(%q) = %v", c.address, err)
		}
	}
}

package daemon

import "testing"

func TestBrowsable(t *testing.T) {
	for base, want := range map[string]string{
		"http://127.0.0.1:8765": "http://127.0.0.1:8765",
		"http://0.0.0.0:8765":   "http://localhost:8765",
		"http://[::]:8765":      "http://localhost:8765",
		"http://[::1]:8765":     "http://[::1]:8765",
	} {
		if got := browsable(base); got != want {
			t.Errorf("browsable(%q) = %q, want %q", base, got, want)
		}
	}
}

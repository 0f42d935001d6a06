package door

import "testing"

// FuzzVersion checks that a parsed version prints as one that parses to the same.
func FuzzVersion(f *testing.F) {
	for _, s := range []string{"2.1.330 (Claude Code)", "v2.1.0-beta", "2.1", "-1.0.0", "999999999999999999999.0.0",
		"+1.0.0", " 2.1.3\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		v, ok := parseVersion(s)
		if !ok {
			return
		}
		if again, ok := parseVersion(v.String()); !ok || again != v {
			t.Errorf("%q is %v, then %v", s, v, again)
		}
		_ = (&ClaudeSocket{Below: s}).Understood(s)
	})
}

package asset

import "testing"

// TestLight tests that files are served without comments and indentation, and otherwise unchanged.
func TestLight(t *testing.T) {
	for text, want := range map[string]string{
		"// why\nconst a = 1; // here\n\n  f(a);\n":             "const a = 1; // here\nf(a);\n",
		"/* why */\na { b: c; } /* d */ e { f: g; } /* h */\n":  "a { b: c; }  e { f: g; } ",
		"const u = \"http://x\";\n    // indented\n    g(u);\n": "const u = \"http://x\";\ng(u);\n",
	} {
		if got := string(light([]byte(text))); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

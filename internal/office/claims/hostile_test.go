package claims

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
	"pennypost/internal/policy"
)

// hostile are parts of names that forge a line, control a terminal, or reverse the text around them.
var hostile = []string{"a\nb", "a\rb", "\x1b[2J", "\x1b]0;x\a", "a\u202eog.b", "\u2066a", "a\u2028b", "a\u0085b",
	"\u200fa"}

// takes is a room that grants every claim.
type takes struct {
	mail.Claimer
	took []mail.Target
}

func (r *takes) Claim(_ context.Context, c mail.ClaimRequest) (out mail.Claimed, err error) {
	r.took = append(r.took, c.Take...)
	return out, nil
}

// TestHostileNames: a write to a file whose name no message could show is not claimed, but the other writes of the
// same call are.
func TestHostileNames(t *testing.T) {
	dir := repository(t, t.TempDir())
	guard := &Guard{Watch: &Watch{}, Rule: func(mail.RoomName) policy.ClaimRule { return policy.ClaimsRefuse },
		Others: func(mail.RoomName, mail.Name) []string { return []string{dir} }}
	for _, name := range hostile {
		text := "echo x | tee " + "'" + filepath.Join(dir, name) + "' '" + filepath.Join(dir, "plain.go") + "'"
		given, err := jsonx.Marshal(map[string]string{"command": text})
		if err != nil {
			t.Fatal(err)
		}
		room := new(takes)
		_, err = guard.Write(t.Context(), room, Use{Room: "shop", Agent: "ann", Tool: "Bash", Given: given, Dir: dir})
		if err != nil || len(room.took) != 1 || room.took[0].Path != "plain.go" {
			t.Errorf("a write of %q claims %+v, %v; want plain.go", name, room.took, err)
		}
	}
}

// TestHostileWords: a manual claim with such characters, in the word or in its link target, is refused, and no error
// repeats them.
func TestHostileWords(t *testing.T) {
	dir := t.TempDir()
	for _, name := range append([]string{"\xff"}, hostile...) {
		words := []string{name, "./" + name, name + "/*.go"}
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err == nil {
			if err := os.Symlink(filepath.Join(dir, name), filepath.Join(dir, "link")); err != nil {
				t.Fatal(err)
			}
			words = append(words, "link", "link/below.go")
		}
		for _, word := range words {
			got, err := Resolve([]string{word}, dir)
			if mail.CodeOf(err) != mail.Invalid {
				t.Errorf("%q is claimed: %+v, %v", word, got, err)
			} else if !mail.IsLine(err.Error()) {
				t.Errorf("%q is refused with %q", word, err)
			}
		}
		_ = os.Remove(filepath.Join(dir, "link"))
	}
}

// TestLongPath: a write is reported even if its path is longer than a subject or a key may be.
func TestLongPath(t *testing.T) {
	held := mail.Holding{Agent: "ann", Claim: mail.Claim{Since: 5, Target: mail.Target{Root: "1-2", At: "/src",
		Path: strings.Repeat("directory/", 200) + "lex.go"}}}
	room := &desk{}
	change{held, held.Path, "bob"}.tell(t.Context(), room)
	if len(room.sent) != 2 {
		t.Errorf("told is %q", room.sent)
	}
}

package arch

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// plainer maps words that a reader stumbles over to plainer ones.
var plainer = map[string]string{
	`[Ss]omebody`:      "someone, or who it is",
	`yet to`:           "not yet",
	`[Bb]y what`:       "how",
	`also (when|if)`:   "even if",
	`lets? go of`:      "releases",
	`in vain`:          "without effect, or unanswered",
	`broken off`:       "interrupted",
	`[Ww]hat is to be`: "a noun",
}

// TestPlainComments refuses in comments the words and patterns of plainer.
func TestPlainComments(t *testing.T) {
	var patterns []string
	for word := range plainer {
		patterns = append(patterns, word)
	}
	any := regexp.MustCompile(`\b(` + strings.Join(patterns, "|") + `)\b`)
	err := filepath.WalkDir(filepath.Join("..", ".."), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") {
			return err
		}
		files := token.NewFileSet()
		f, err := parser.ParseFile(files, path, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		for _, group := range f.Comments {
			for _, c := range group.List {
				if word := any.FindString(c.Text); word != "" {
					t.Errorf("%v says %q; plainer: %s", files.Position(c.Pos()), word, plainerThan(word))
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func plainerThan(word string) string {
	for pattern, than := range plainer {
		if regexp.MustCompile(`^(` + pattern + `)$`).MatchString(word) {
			return than
		}
	}
	return ""
}

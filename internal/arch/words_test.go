package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// plainer maps words that a reader stumbles over to plainer ones.
var plainer = map[string]string{
	`[Ss]omebody`:      "someone, or who it is",
	`[Aa]nybody`:       "anyone",
	`[Ee]verybody`:     "everyone, or all agents",
	`yet to`:           "not yet",
	`[Bb]y what`:       "how",
	`also (when|if)`:   "even if",
	`lets? go of`:      "releases",
	`in vain`:          "without effect, or unanswered",
	`broken off`:       "interrupted",
	`[Ww]hat is to be`: "a noun",
}

var plainerThanAny = func() *regexp.Regexp {
	var patterns []string
	for word := range plainer {
		patterns = append(patterns, word)
	}
	return regexp.MustCompile(`\b(` + strings.Join(patterns, "|") + `)\b`)
}()

// TestPlainComments refuses in comments the words and patterns of plainer.
func TestPlainComments(t *testing.T) {
	everyGoFile(t, func(files *token.FileSet, f *ast.File) {
		for _, group := range f.Comments {
			for _, c := range group.List {
				refuse(t, files.Position(c.Pos()), c.Text)
			}
		}
	})
}

// TestPlainTexts refuses them in the texts of the program. A string without a space is a name.
func TestPlainTexts(t *testing.T) {
	everyGoFile(t, func(files *token.FileSet, f *ast.File) {
		if strings.HasSuffix(files.Position(f.Pos()).Filename, "_test.go") {
			return
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING && strings.Contains(l.Value, " ") {
				refuse(t, files.Position(l.Pos()), l.Value)
			}
			return true
		})
	})
}

// TestPlainPages refuses them in the prose of the docs, which quotes the words of others as code.
func TestPlainPages(t *testing.T) {
	code := regexp.MustCompile("`[^`]*`")
	for _, name := range append(pages(t), filepath.Join("..", "..", "README.md")) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		quotes, n := false, 0
		for line := range strings.Lines(string(text)) {
			n++
			if strings.HasPrefix(strings.TrimSpace(line), "```") {
				quotes = !quotes
			} else if !quotes && !strings.HasPrefix(line, "    ") {
				refuse(t, token.Position{Filename: name, Line: n}, code.ReplaceAllString(line, "``"))
			}
		}
	}
}

func refuse(t *testing.T, at token.Position, text string) {
	t.Helper()
	if word := plainerThanAny.FindString(text); word != "" {
		t.Errorf("%v says %q; plainer: %s", at, word, plainerThan(word))
	}
}

func everyGoFile(t *testing.T, f func(*token.FileSet, *ast.File)) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join("..", ".."), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") {
			return err
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, nil, parser.ParseComments)
		if err == nil {
			f(files, file)
		}
		return err
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

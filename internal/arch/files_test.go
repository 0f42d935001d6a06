package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// openers are functions of the standard library, and of modules, that open any kind of file: on a pipe they block
// their caller, on a device they may do anything.
var openers = []string{"os.Open", "os.OpenFile", "os.Create", "os.ReadFile", "os.WriteFile", "os.OpenRoot",
	"tls.LoadX509KeyPair", "flock.New", "syscall.Open", "unix.Open"}

// opensItself are the files whose functions may call them, and why these open no file of the data directory. All
// other code uses internal/base/durable or, within a stranger's reach, internal/base/confined.
var opensItself = map[string]string{
	"internal/base/durable/":                           "it is the one place",
	"internal/base/confined/dir.go":                    "it is that for what is in a stranger's reach",
	"internal/base/process/process_linux.go":           "files of /proc",
	"internal/base/process/listener_linux.go":          "files of /proc",
	"internal/office/wake/door/tmux_linux.go":          "files of /proc",
	"internal/office/gate/tcp.go":                      "files of /proc",
	"internal/front/cli/agent.go":                      "files of /proc",
	"internal/office/listen/shed.go":                   "/dev/null",
	"internal/front/cli/confirm.go":                    "the terminal",
	"internal/front/cli/input.go":                      "what the person names, which may be a pipe",
	"internal/office/dialect/superportia/verbs.go":     "what the person names, which may be a pipe",
	"internal/office/dialect/agenties/verbs.go":        "what the person names, which may be a pipe",
	"internal/office/notify/smtp.go":                   "what the person names, which may be a pipe",
	"internal/config/listen.go":                        "certificate and key, which the person names",
	"internal/office/tui/editor.go":                    "made by itself a moment ago",
	"internal/office/backup/read.go":                   "a directory that it made itself a moment ago",
	"internal/front/cli/data/backup.go":                "the directory that the person names",
	"internal/front/install/":                          "settings of clients, when the person installs",
	"internal/office/dialect/claudeteams/handshake.go": "what the person names, which may be a pipe",
	"internal/office/dialect/openalice/document.go":    "the workspace that the person names, as confined does",
	"internal/office/command/demo.go":                  "a home that it made itself a moment ago",
	"internal/office/demoday/":                         "a home that it made itself a moment ago",
	"internal/office/web/asset/vendorjs/main.go":       "no part of the program",
	"internal/base/confusable/generate.go":             "no part of the program",
}

// TestFilesAreOpenedInOnePlace: files of the data directory are opened only through internal/base/durable, which
// accepts only regular files and never blocks.
func TestFilesAreOpenedInOnePlace(t *testing.T) {
	used := make(map[string]bool)
	err := filepath.WalkDir("../../internal", func(path string, d fs.DirEntry, err error) error {
		name := filepath.ToSlash(strings.TrimPrefix(path, "../../"))
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") ||
			slices.ContainsFunc(suites, func(s string) bool { return strings.HasPrefix(name, s+"/") }) {
			return err
		}
		calls, err := callsOf(path, openers)
		for _, call := range calls {
			key := name
			if _, ok := opensItself[key]; !ok {
				key = filepath.ToSlash(filepath.Dir(name)) + "/"
			}
			if used[key] = true; opensItself[key] == "" {
				t.Errorf("%s calls %s: call OpenFile, Open, ReadFile or WriteFile of package durable, which take "+
					"regular files only, or give the reason in internal/arch", name, call)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range opensItself {
		if !used[name] {
			t.Errorf("%s opens nothing itself: take it off the list", name)
		}
	}
}

// callsOf returns those of some functions, each a package and a name, that a file mentions.
func callsOf(path string, functions []string) (found []string, err error) {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if p, ok := s.X.(*ast.Ident); ok && slices.Contains(functions, p.Name+"."+s.Sel.Name) {
				found = append(found, p.Name+"."+s.Sel.Name)
			}
		}
		return true
	})
	return found, nil
}

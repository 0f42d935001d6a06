package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// ownActs are the files in which the post office manages rooms by itself: no caller's input decides there in whose
// name. All other code gets a room from the gate.
var ownActs = []struct{ file, why string }{
	{"internal/office/rooms/bridges.go", "which bridges a room has, and what changes in them"},
	{"internal/office/caller/bridges.go", "which bridges a room has"},
	{"internal/office/caller/room.go", "the roster, to find a teammate in it"},
	{"internal/office/caller/desk.go", "what of all rooms waits for the user, whom the door has asked for"},
	{"internal/office/caller/fleet.go", "what all rooms have, for the user, whom the door has asked for"},
	{"internal/office/rooms/kept.go", "what is known of a room once it is closed, for the user"},
	{"internal/office/caller/listener.go", "whose life a wait stands on, whom the gate has let in"},
	{"internal/office/caller/caller.go", "whose life an MCP session stands on, whom the gate has let in"},
	{"internal/office/notify/", "what the user is told of, and what a button of it answers"},
	{"internal/office/github/", "what GitHub says, as a sender whom nobody can be"},
	{"internal/office/bridge/", "what stands in a bridged file, which says itself who wrote it"},
	{"internal/office/wake/ringer.go", "notices of the post office"},
	{"internal/office/web/sitetest/", "a room of tests, which has no gate"},
}

// entrances are the methods of a room that name a caller, or that return the user's view.
var entrances = []string{"As", "From", "ForFiles", "AsUser", "DeskRows", "Preview"}

// noRoom are the receivers of other types' methods with the same names.
var noRoom = map[string]string{
	"render": "package markdown", "markdown": "the package",
	"errors": "the package", "l": "a link of package waits",
	"n": "a node of it", "w": "who waits, of it", "id": "the gate's own identity",
	"v":   "a verb's invocation: the post office has identified its caller",
	"c":   "a dialect's call: it knows for whom",
	"box": "a hook's mailbox: the post office has found its agent",
}

// TestOneGate: rooms are entered through the gate. It checks the callers of a room's methods that name a caller, and
// of the gate's methods that identify one.
func TestOneGate(t *testing.T) {
	seen := make(map[string]bool)
	for _, at := range callsIn(t, "../office") {
		receiver, method, _ := strings.Cut(at.call, ".")
		switch {
		case slices.Contains(entrances, method) && noRoom[receiver] == "":
			if strings.HasPrefix(at.file, "internal/office/gate/") {
				continue
			}
			i := slices.IndexFunc(ownActs, func(a struct{ file, why string }) bool {
				return strings.HasPrefix(at.file, a.file)
			})
			if i < 0 {
				t.Errorf("%s calls %s: who a caller is, only the gate says", at.file, at.call)
				continue
			}
			seen[ownActs[i].file] = true
		case slices.Contains([]string{"gate.Own", "gate.OfHook", "gate.Admitted", "gate.WithPeer", "gate.FarPeer",
			"gate.NewPeer"}, at.call):
			if !slices.Contains([]string{
				"internal/office/caller/room.go gate.Own", "internal/office/caller/answers.go gate.Own",
				"internal/office/caller/hooks.go gate.OfHook", "internal/office/daemon/dialectdoor.go gate.Admitted",
			}, at.file+" "+at.call) {
				t.Errorf("%s calls %s, by which a caller is identified without being asked", at.file, at.call)
			}
		}
	}
	for _, a := range ownActs {
		if !seen[a.file] {
			t.Errorf("%s enters no room by itself any more: take it off the list", a.file)
		}
	}
}

type callAt struct{ file, call string }

// callsIn returns the calls of methods and of packages' functions, as "receiver.Name", in the non-test files below
// dir.
func callsIn(t *testing.T, dir string) (all []callAt) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") ||
			strings.Contains(path, "dialecttest") {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		file := "internal/" + strings.TrimPrefix(filepath.ToSlash(path), "../")
		ast.Inspect(f, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			if sel, ok := call.Fun.(*ast.SelectorExpr); ok {
				switch x := sel.X.(type) {
				case *ast.Ident:
					all = append(all, callAt{file, x.Name + "." + sel.Sel.Name})
				case *ast.SelectorExpr:
					all = append(all, callAt{file, x.Sel.Name + "." + sel.Sel.Name})
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

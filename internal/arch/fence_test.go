package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// doors are the packages whose text a model reads.
var doors = []string{
	"internal/office/mcpserver",
	"internal/office/hook",
	"internal/office/wake",
	"internal/office/wake/door",
	"internal/front/cli", "internal/front/cli/room", "internal/front/cli/office", "internal/front/cli/machines",
	"internal/front/cli/setup", "internal/front/cli/data",
	"internal/office/command",
}

// theirWords are fields that hold free text of others. Names are slugs in errors (mail.Slug), and neutralised by
// fence.Text elsewhere.
var theirWords = []string{"Subject", "Body", "Task", "Metadata", "Label", "Preview", "Choices", "Docs",
	"Issue", "Suggestions"}

// fenced are the functions of doors that use such a field, and why no model gets it outside a fence. A new function
// must use package fence before it is listed here.
var fenced = map[string]string{
	"mcpserver letter": "for Fence.Message", "mcpserver onePart": "measures it", "mcpserver readOne": "measures it",
	"mcpserver lineOf": "for listAgents, whose answer is fenced", "mcpserver prose": "has listAgents fence it",
	"mcpserver setPresence": "the caller's own", "mcpserver sendMessage": "the caller's own",
	"mcpserver readBody": "a request, no mail",

	"hook asked": "for the person alone", "room showDialog": modelWriter, "room showQuestions": modelWriter,
	"room showAnswers": modelWriter, "room choiceCalled": "the caller's own", "room optionCalled": "the caller's own",
	"room choiceLines": "for the person alone", "room completeChoices": "for a shell that a person types in",
	"room dialogAnswer": "the caller's own", "room questionAnswer": "the caller's own",

	"hook letter": "measures it", "hook pointer": "for Fence.Pointer",

	"door ask": "an answer to HTTP, no mail", "wake send": "the office's own words, for its log",

	"cli HandOver": "for Fence.Message", "cli Heading": modelWriter, "room headlineOf": modelWriter,
	"room showMessage": modelWriter, "room showOptions": modelWriter, "room showSuggestions": modelWriter,
	"cli ShowDelivery": modelWriter, "setup firstQuestion": "the office's own words",
	"setup answerFirst": "the caller's own",
	"room agentRow":     modelWriter, "room waitingAllRooms": modelWriter, "cli glimpsed": modelWriter,
	"room showWaiting": modelWriter, "room showScheduled": modelWriter,
	"room mailWords":   modelWriter,
	"room changeWords": modelWriter, "setup web": "an answer to HTTP, no mail", "data importParts": "measures it",
	"room answer": "the caller's own", "room newSend": "the caller's own",
	"room newHistory": "the caller's own", "room complete": "the caller's own",
	"room answerable": "whether there are any",
	"room describe":   "the caller's own", "room setMember": "the caller's own",
	"room completeQuestion": "for a shell that a person types in", "room waitWords": modelWriter,
	"room reply": "the caller's own", "room below": "the caller's own",

	"machines showOutbox": modelWriter, "machines about": modelWriter,
	"command script": "the demo's own", "command see": "for the person who looks at the demo",
}

const modelWriter = "a command's output, which the ModelWriter fences"

// pastFence are the functions that write to standard output without the ModelWriter.
var pastFence = map[string]string{
	"cli InTerminal": "looks at what it is", "data backup": "an archive",
	"room whileHeard": "looks whether it is read",

	"command serveThreads": mcpServes, "command serveMCP": mcpServes, "command serveOne": mcpServes,
	"command loginLink": "looks at what it is",

	"haak handOver": "what inject has fenced", "haak offline": "what inject has fenced",
}

const mcpServes = "MCP, whose answers package mcpserver fences"

// A function of a door that uses others' text is listed with how that is fenced; the test fails for one that is not
// listed, or that no longer exists.
func TestOthersTextIsFenced(t *testing.T) {
	seen := make(map[string]bool)
	dialects, err := filepath.Glob("../../internal/office/dialect/*")
	if err != nil || len(dialects) == 0 {
		t.Fatal(err)
	}
	for i, dir := range dialects { // their output goes to the ModelWriter, and their tools answer in JSON
		dialects[i] = strings.TrimPrefix(dir, "../../")
	}
	for _, dir := range slices.Concat(doors, dialects) {
		files, err := filepath.Glob(filepath.Join("../..", dir, "*.go"))
		if err != nil || len(files) == 0 && !slices.Contains(dialects, dir) {
			t.Fatalf("%s: %v", dir, err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			touched(t, file, func(fn, what string, at token.Position) {
				key := filepath.Base(dir) + " " + fn
				if what != pastIt && slices.Contains(dialects, dir) {
					return
				}
				table := fenced
				if what == pastIt {
					table = pastFence
				}
				seen[key+what] = true
				seen[key] = true
				if table[key] == "" {
					t.Errorf(
						"%s:%d: %s touches %s, which a model must not get outside of a fence: write it by package "+
							"fence, and then list the function here",
						at.Filename,
						at.Line,
						fn,
						what,
					)
				}
			})
		}
	}
	for key := range fenced {
		if !seen[key] {
			t.Errorf("%q touches nothing any more: take it out", key)
		}
	}
	for key := range pastFence {
		if !seen[key+pastIt] {
			t.Errorf("%q writes nothing past the fence any more: take it out", key)
		}
	}
}

// pastIt is touched's word for a writer without a ModelWriter.
const pastIt = "the writer behind the fence"

// touched calls found for each selector in a file that names a field of theirWords, or the writer inside a
// ModelWriter. An assignment to such a field is not a use.
func touched(t *testing.T, file string, found func(fn, what string, at token.Position)) {
	t.Helper()
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, decl := range parsed.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok {
			continue
		}
		given := make(map[ast.Expr]bool)
		ast.Inspect(f, func(n ast.Node) bool {
			if set, ok := n.(*ast.AssignStmt); ok && set.Tok == token.ASSIGN {
				for _, left := range set.Lhs {
					given[left] = true
				}
			}
			s, ok := n.(*ast.SelectorExpr)
			if !ok || given[s] {
				return true
			}
			of, ok := s.X.(*ast.SelectorExpr)
			if ok && of.Sel.Name == "Stdout" && s.Sel.Name == "To" || s.Sel.Name == "Fenced" {
				found(f.Name.Name, pastIt, set.Position(s.Pos()))
			}
			if slices.Contains(theirWords, s.Sel.Name) {
				found(f.Name.Name, s.Sel.Name, set.Position(s.Pos()))
			}
			return true
		})
	}
}

package realclient

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pennypost/internal/wire"
)

// record makes TestRecord write the file that internal/office/hook/hooktest replays.
var record = flag.Bool("record", false, "write what the clients' hooks are handed into "+recordedFile)

const recordedFile = "../office/hook/hooktest/recorded.jsonl"

// keeper is a file of package hookpipe that keeps the input of each hook in the program's directory.
const keeper = `package hookpipe

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"pennypost/internal/wire"
)

func keep(h *wire.Hook) {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	text, err := json.Marshal(h)
	if err != nil {
		panic(err)
	}
	name := filepath.Join(filepath.Dir(self), fmt.Sprint("hook-", time.Now().UnixNano()))
	if err := os.WriteFile(name, text, 0o600); err != nil {
		panic(err)
	}
}
`

// buildKeeping builds the front with the keeper in it.
func buildKeeping(dir, program string) error {
	pkg, err := filepath.Abs("../front/hookpipe")
	if err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(pkg, "pipe.go"))
	if err != nil {
		return err
	}
	const asks = "\ta, err := office.Hook(ctx, &p.Hook)\n"
	if !bytes.Contains(text, []byte(asks)) {
		return fmt.Errorf("hookpipe asks the post office in another way than the recorder knows: %q", asks)
	}
	files := map[string][]byte{"pipe.go": bytes.Replace(text, []byte(asks), []byte("\tkeep(&p.Hook)\n"+asks), 1),
		"keep.go": []byte(keeper)}
	replace := map[string]string{}
	for name, text := range files {
		replace[filepath.Join(pkg, name)] = filepath.Join(dir, name)
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			return err
		}
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return err
	}
	list := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(list, overlay, 0o600); err != nil {
		return err
	}
	out, err := exec.Command("go", "build", "-overlay", list, "-o", program, "../../cmd/pennypost").CombinedOutput()
	if err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	return nil
}

// recordedCalls are each client's recorded tools other than its shell: one that reads PATH, which exists, one that
// writes a whole file, and one that edits it.
func recordedCalls() map[string]string {
	const path = `"file_path":"PATH"`
	return map[string]string{
		"claude": `[[tool Read {` + path + `}]] [[tool Edit {` + path + `,"old_string":"a","new_string":"b"}]]`,
		"codex": `[[tool exec_command {"cmd":"apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: held.txt\n` +
			`@@\n-a\n+b\n*** End Patch\nEOF"}]]`,
		"gemini": `[[tool read_file {` + path + `}]] [[tool replace {` + path + `,"old_string":"a",` +
			`"new_string":"b","instruction":"x"}]]`,
		"qwen":    `[[tool read_file {` + path + `}]] [[tool edit {` + path + `,"old_string":"a","new_string":"b"}]]`,
		"copilot": `[[tool view {"path":"PATH"}]] [[tool edit {"path":"PATH","old_str":"a","new_str":"b"}]]`,
		"opencode": `[[tool read {"filePath":"PATH"}]] [[tool edit {"filePath":"PATH","oldString":"a",` +
			`"newString":"b"}]]`,
		"pi": `[[tool read {"path":"PATH"}]] [[tool edit {"path":"PATH","edits":[{"oldText":"a",` +
			`"newText":"b"}]}]]`,
	}
}

// TestRecord makes each client use its tools, and records the input of its hooks:
//
//	./test clients # which installs them, and tries them
//	go test ./internal/realclient -run TestRecord -record -clients ~/.cache/pennypost-test/clients
//
// The records of a client that is not installed, or not asked for (-run TestRecord/gemini), stay.
func TestRecord(t *testing.T) {
	if !*record || *installed == "" {
		t.Skip("recorded by hand: see the comment")
	}
	before, err := os.ReadFile(recordedFile)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	var all []string
	for _, c := range clients() {
		calls := recordedCalls()[c.name]
		if calls == "" {
			continue
		}
		var lines []string
		t.Run(c.name, func(t *testing.T) { lines = recorded(t, c, wanted(t, c.name), calls) })
		if len(lines) == 0 { // not installed, or not asked for
			for line := range strings.Lines(string(before)) {
				if strings.HasPrefix(line, `{"client":"`+c.name+`"`) {
					lines = append(lines, strings.TrimSuffix(line, "\n"))
				}
			}
		}
		all = append(all, lines...)
	}
	if t.Failed() {
		return
	}
	if err := os.WriteFile(recordedFile, []byte(strings.Join(all, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// recorded returns the inputs of a client's hooks in a session of one turn, each once.
func recorded(t *testing.T, c client, v clientVersion, calls string) (lines []string) {
	l := newLab(t, c, v)
	l.install()
	l.shell()
	file := filepath.Join(l.project, "held.txt")
	l.write(file, "a\n")
	if c.name != "codex" {
		calls += " " + strings.ReplaceAll(c.write, "PATH", filepath.Join(l.project, "new.txt"))
	}
	calls = strings.ReplaceAll(calls, "PATH", file)
	prompt := "hello record [[sh true COMMAND]] " + calls + " [[say bye]]"
	l.finished(l.begin(prompt))
	names, err := filepath.Glob(filepath.Join(filepath.Dir(os.Getenv(binaryVar)), "hook-*"))
	l.must(err)
	slices.Sort(names)
	seen := map[string]bool{}
	for _, name := range names {
		text, err := os.ReadFile(name)
		l.must(err)
		var h wire.Hook
		l.must(json.Unmarshal(text, &h))
		if !bytes.Contains(h.Input, []byte(l.dir)) || strings.EqualFold(h.Event, "notification") {
			continue // another's, or of no concern to claims
		}
		line, once := l.template(&h, prompt)
		if !seen[once] {
			seen[once] = true
			lines = append(lines, line)
		}
	}
	return lines
}

// template returns a hook's input, with the words of hooktest.Scene in place of the variable parts.
func (l *lab) template(h *wire.Hook, prompt string) (line, once string) {
	var in struct {
		Session      string `json:"session_id"`
		CamelSession string `json:"sessionId"`
		Tool         string `json:"tool_name"`
		CamelTool    string `json:"toolName"`
		Use          string `json:"tool_use_id"`
	}
	l.must(json.Unmarshal(h.Input, &in))
	quoted := strings.Trim(asJSON(l.t, prompt), "\"")
	pairs := []string{quoted, "$PROMPT", l.project + "/held.txt", "$FILE", l.project + "/new.txt", "$FILE", "held.txt",
		"$FILE", "new.txt", "$FILE", l.project, "$DIR", slug(l.project, "/."), "$SLUG", slug(l.project, "/"), "$SLUG",
		slug(l.project, "/")[1:], "$SLUG", l.home, "$HOME", l.dir, "$LAB", in.Session + in.CamelSession, "$SESSION",
		"true COMMAND", "$COMMAND"}
	if in.Use != "" {
		pairs = append(pairs, in.Use, "$USE")
	}
	words := strings.NewReplacer(pairs...)
	var environ []string
	for _, v := range h.Environ {
		name, _, _ := strings.Cut(v, "=")
		if strings.HasSuffix(name, "_PROJECT_DIR") || strings.HasSuffix(name, "VERSION") {
			environ = append(environ, words.Replace(v))
		}
	}
	input := bytes.NewBuffer(nil)
	l.must(json.Compact(input, []byte(words.Replace(string(h.Input)))))
	line = asJSON(l.t, struct {
		Client  string          `json:"client"`
		Version string          `json:"version"`
		Event   string          `json:"event"`
		Environ []string        `json:"environ,omitempty"`
		Input   json.RawMessage `json:"input"`
	}{h.Client, l.version.version, h.Event, environ, input.Bytes()})
	return line, fmt.Sprint(h.Event, in.Tool, in.CamelTool, strings.Contains(line, "$COMMAND"))
}

// slug is a directory's name in the clients' records of a project.
func slug(path, letters string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(letters, r) {
			return '-'
		}
		return r
	}, path)
}

// asJSON is v as JSON with unescaped brackets.
func asJSON(t *testing.T, v any) string {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

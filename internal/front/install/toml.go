package install

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"pennypost/internal/mail"
)

// tomlFile is the editor of Codex's config.toml: our MCP server and, where the file already has hooks, our hooks. It
// adds entries at the end; it finds existing ones with a parser and changes them as text.
type tomlFile struct {
	o     *Options
	hooks *jsonHooks // the hooks to install
	here  bool       // hooks belong in this file, not in hooks.json
	// trust returns our hooks, given the text of this file for those in it; nil: the file holds no trust of Codex's.
	trust func([]byte) []trustedHook
	only  bool // only trust belongs in this file
}

const servers = "mcp_servers"

func (f *tomlFile) put(text []byte) ([]byte, error) {
	before := text
	var err error
	if !f.only {
		text, err = f.putServer(text)
	}
	if err == nil && f.here {
		text, err = f.putHooks(text)
	}
	if err == nil && f.trust != nil && f.o.Trust {
		text, err = f.putTrust(text)
	}
	if err != nil {
		return nil, err
	}
	return text, f.verify(before, text)
}

// verify checks an edit: without our entries both texts must mean the same.
func (f *tomlFile) verify(before, after []byte) error {
	was, _, err := f.strip(before, before)
	if err != nil {
		return err
	}
	is, _, err := f.strip(after, before)
	if err != nil {
		return err
	}
	x, _ := decodeTOML(was)
	y, err := decodeTOML(is)
	if err != nil || !reflect.DeepEqual(x, y) {
		return mail.Errorf(mail.Internal, "the edit would change something else in the file. Nothing was "+
			"changed; please report this with the file")
	}
	return nil
}

// tomlOf returns the content of a file, empty if there is none.
func tomlOf(path string) (map[string]any, error) {
	text, _ := os.ReadFile(path)
	return decodeTOML(text)
}

func decodeTOML(text []byte) (map[string]any, error) {
	m := map[string]any{}
	err := toml.Unmarshal(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")), &m)
	if e, ok := errors.AsType[*toml.DecodeError](err); ok {
		row, col := e.Position()
		return nil, mail.Errorf(mail.Invalid,
			"this is not TOML: line %d, column %d: %s. The file was not changed; correct it and try again", row, col,
			strings.TrimPrefix(e.Error(), "toml: "))
	}
	if err != nil {
		return nil, mail.Errorf(mail.Invalid, "this is not TOML: %s. The file was not changed; correct it and "+
			"try again",
			strings.TrimPrefix(err.Error(), "toml: "))
	}
	return m, nil
}

func (f *tomlFile) putServer(text []byte) ([]byte, error) {
	m, err := decodeTOML(text)
	if err != nil {
		return nil, err
	}
	entry, there := dig(m, servers, serverName).(map[string]any)
	if !there {
		return f.add(text, f.serverTable())
	}
	old := tomlCommand(entry)
	if _, ours := serverOf(old); !ours {
		return nil, notOurs(lineOf(text, servers, serverName))
	}
	wanted := serverCommand(f.o, old)
	if old[0] != wanted[0] {
		if text, err = setKey(text, tomlString(wanted[0]), servers, serverName, "command"); err != nil {
			return nil, err
		}
	}
	if !slices.Equal(old[1:], wanted[1:]) {
		if text, err = setKey(text, tomlStrings(wanted[1:]), servers, serverName, "args"); err != nil {
			return nil, err
		}
	}
	return putVariables(text, entry)
}

// ServerVariables are the environment variables that Codex should pass to the server: by default it passes only a few
// common ones (0.169.0). Without them the server would use another post office than the hooks, as another agent.
func ServerVariables() []string {
	return []string{"PENNYPOST_AGENT", "PENNYPOST_ROOM", "PENNYPOST_HOME"}
}

// putVariables adds the missing ones of these to an existing server.
func putVariables(text []byte, entry map[string]any) ([]byte, error) {
	old, there := entry["env_vars"].([]any)
	var words []string
	for _, v := range old {
		word, ok := v.(string)
		if !ok {
			return text, nil // written in another form, deliberately
		}
		words = append(words, word)
	}
	n := len(words)
	for _, name := range ServerVariables() {
		if !slices.Contains(words, name) {
			words = append(words, name)
		}
	}
	switch {
	case len(words) == n:
		return text, nil
	case there:
		return setKey(text, tomlStrings(words), servers, serverName, "env_vars")
	}
	all, err := expressions(text)
	if err != nil {
		return nil, err
	}
	for _, e := range all {
		if e.kind == unstable.KeyValue && slices.Equal(e.key, []string{servers, serverName, "command"}) {
			line := text[e.lines.start:e.lines.end]
			key, _, _ := bytes.Cut(line, []byte("command")) // with any text before it, if keys are dotted
			end := "\n"
			if bytes.HasSuffix(line, []byte("\r\n")) {
				end = "\r\n"
			}
			added := string(key) + "env_vars = " + tomlStrings(words) + end
			if !bytes.HasSuffix(line, []byte("\n")) {
				added = end + strings.TrimSuffix(added, end)
			}
			return slices.Concat(text[:e.lines.end], []byte(added), text[e.lines.end:]), nil
		}
	}
	return nil, inlineTable()
}

func (f *tomlFile) serverTable() string {
	return "[" + servers + "." + serverName + "]\n" +
		"command = " + tomlString(f.o.Binary) + "\n" +
		"args = " + tomlStrings(mcpArgs(f.o)) + "\n" +
		"env_vars = " + tomlStrings(ServerVariables()) + "\n" +
		fmt.Sprintf("tool_timeout_sec = %d\n", ToolTimeout)
}

func tomlCommand(entry map[string]any) []string {
	command, _ := entry["command"].(string)
	words := []string{command}
	args, _ := entry["args"].([]any)
	for _, a := range args {
		word, _ := a.(string)
		words = append(words, word)
	}
	return words
}

// add appends a block to text, after an empty line, and checks that the file can still be read.
func (f *tomlFile) add(text []byte, block string) ([]byte, error) {
	eol := "\n"
	if i := bytes.IndexByte(text, '\n'); i > 0 && text[i-1] == '\r' {
		eol = "\r\n"
	}
	block = strings.ReplaceAll(strings.ReplaceAll(block, "\r\n", "\n"), "\n", eol)
	out := slices.Clone(text)
	if n := len(bytes.TrimPrefix(out, []byte("\xef\xbb\xbf"))); n > 0 {
		if out[len(out)-1] != '\n' {
			out = append(out, eol...)
		}
		out = append(out, eol...)
	}
	out = append(out, block...)
	if _, err := decodeTOML(out); err != nil {
		first, _, _ := strings.Cut(block, eol)
		return nil, mail.Errorf(mail.Invalid, "the table %s cannot be added, because the file defines its parent "+
			"as an inline value. Nothing was changed; write the parent as a table of its own", first)
	}
	return out, nil
}

func (f *tomlFile) putHooks(text []byte) ([]byte, error) {
	for _, h := range f.hooks.events {
		groups, err := f.groups(text)
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(groups, func(g tomlGroup) bool { return g.event == h.event && g.ours > 0 })
		switch {
		case i < 0:
			text, err = f.add(text, hookTable(h))
		case !slices.Contains(groups[i].commands, h.command):
			text, err = groups[i].setCommand(text, h.command)
		}
		if err != nil {
			return nil, err
		}
	}
	return text, nil
}

func hookTable(h jsonHook) string {
	return fmt.Sprintf("[[hooks.%s]]\n[[hooks.%s.hooks]]\ntype = \"command\"\ncommand = %s\ntimeout = %d\n", h.event,
		h.event, tomlString(h.command), codexTimeout(h.event))
}

// tomlGroup is an element of an array of hooks, with its expressions.
type tomlGroup struct {
	event    string
	commands []string
	binary   string
	ours     int // number of commands
	exprs    []tomlExpr
}

// groups returns the groups of hooks that the file has as tables.
func (f *tomlFile) groups(text []byte) ([]tomlGroup, error) {
	all, err := expressions(text)
	if err != nil {
		return nil, err
	}
	var groups []tomlGroup
	open := -1
	for _, e := range all {
		switch {
		case e.kind == unstable.ArrayTable && len(e.key) == 2 && e.key[0] == "hooks":
			groups = append(groups, tomlGroup{event: e.key[1]})
			open = len(groups) - 1
		case open < 0:
			continue
		case len(e.key) < 3 || e.key[0] != "hooks" || e.key[1] != groups[open].event:
			open = -1
			continue
		}
		g := &groups[open]
		g.exprs = append(g.exprs, e)
		if e.kind == unstable.KeyValue && e.key[len(e.key)-1] == "command" {
			g.commands = append(g.commands, e.text)
			if binary, ours := hookOf(e.text, f.hooks.client); ours {
				g.binary = binary
				g.ours++
			}
		}
	}
	return groups, nil
}

// setCommand replaces the command of our hook in the group.
func (g *tomlGroup) setCommand(text []byte, command string) ([]byte, error) {
	for _, e := range g.exprs {
		if e.kind == unstable.KeyValue && e.key[len(e.key)-1] == "command" && strings.Contains(e.text, " hook ") {
			return slices.Concat(text[:e.value.start], []byte(tomlString(command)), text[e.value.end:]), nil
		}
	}
	return text, nil
}

func inlineTable() error {
	return mail.Errorf(mail.Invalid, "%s is inside another value, where it cannot be changed safely. Nothing was "+
		"changed; write it as a table [%s.%s], or remove it", serverName, servers, serverName)
}

func (f *tomlFile) strip(text, base []byte) ([]byte, []piece, error) {
	m, err := decodeTOML(text)
	if err != nil {
		return nil, nil, err
	}
	var taken []piece
	if entry, there := dig(m, servers, serverName).(map[string]any); there && !f.only {
		if _, ours := serverOf(tomlCommand(entry)); ours {
			if text, taken, err = cutBelow(text, servers, serverName); err != nil {
				return nil, nil, err
			}
			if len(taken) == 0 {
				return nil, nil, inlineTable()
			}
		}
	}
	// Before the hooks: a trust names its hook by the hook's position.
	text, trust, err := f.stripTrust(text, base)
	if err != nil || f.only {
		return text, trust, err
	}
	for {
		groups, err := f.groups(text)
		if err != nil {
			return nil, nil, err
		}
		i := slices.IndexFunc(groups, func(g tomlGroup) bool { return g.ours > 0 && g.ours == len(g.commands) })
		if i < 0 {
			return text, append(taken, trust...), nil
		}
		var p piece
		exprs := groups[i].exprs
		text, p = cut(text, span{exprs[0].lines.start, exprs[len(exprs)-1].lines.end})
		taken = append(taken, p)
	}
}

func (f *tomlFile) replay(base []byte, taken []piece) ([]byte, error) {
	text, err := base, error(nil)
	for _, p := range taken {
		if text, err = f.add(text, p.raw); err != nil {
			return nil, err
		}
	}
	return text, nil
}

func (f *tomlFile) entries(text []byte) ([]Entry, error) {
	if f.only {
		return nil, nil
	}
	m, err := decodeTOML(text)
	if err != nil {
		return nil, err
	}
	var out []Entry
	all, _ := dig(m, servers).(map[string]any)
	for name, v := range all {
		entry, _ := v.(map[string]any)
		if binary, ours := serverOf(tomlCommand(entry)); ours {
			out = append(out, Entry{"MCP server " + name, binary, lineOf(text, servers, name)})
		}
	}
	slices.SortFunc(out, func(a, b Entry) int { return a.Line - b.Line })
	groups, err := f.groups(text)
	for _, g := range groups {
		if g.ours > 0 {
			out = append(out, Entry{"hook " + g.event, g.binary, 1 + bytes.Count(text[:g.exprs[0].lines.start],
				[]byte("\n"))})
		}
	}
	return out, err
}

func (f *tomlFile) blank(text []byte) bool {
	return len(bytes.TrimSpace(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")))) == 0
}

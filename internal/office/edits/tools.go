package edits

import (
	"bytes"
	"slices"
	"strings"

	"pennypost/internal/base/jsonx"
)

// use is a tool's effect on files.
type use int

const (
	file    use = iota // writes the files that it names
	view               // the same, unless its command is view
	patch              // applies a patch in Codex's form
	shell              // runs a command in a POSIX shell
	foreign            // runs a command in another shell, which is not parsed
)

// tools are the tools that write, by plain name. A name means the same in all clients. MCP tools are not included,
// because their files may be on another machine.
var tools = map[string]use{
	"write": file, "edit": file, "multiedit": file, "notebookedit": file, // Claude Code, opencode, pi
	"writefile": file, "replace": file, // Gemini, Qwen
	"create": file, "strreplace": file, "insert": file, "delete": file, // Copilot, Cursor
	"editfile": file, "searchreplace": file, "deletefile": file, "editnotebook": file, // Cursor
	"createfile": file, "replacestringinfile": file, "multireplacestringinfile": file,
	"inserteditintofile": file, "editnotebookfile": file, // VS Code
	"writetofile": file, "replaceinfile": file, "newrule": file, // Cline

	"strreplaceeditor": view, "strreplacebasededittool": view,

	"applypatch": patch, "patch": patch,

	"bash": shell, "shell": shell, "localshell": shell, "execcommand": shell, "shellcommand": shell, "exec": shell,
	"runshellcommand": shell, "runinterminal": shell, "runterminalcmd": shell, "runterminalcommand": shell,
	"terminal": shell, "executecommand": shell, "monitor": shell,

	"powershell": foreign,
}

// readers are the clients' own tools that change no file, by plain name: their calls cannot have caused a change in
// the meantime. Unknown tools may write, and so may tools that show the output of a command that still runs.
var readers = map[string]bool{
	"read": true, "grep": true, "glob": true, "ls": true, "list": true, "find": true, "view": true, "lsp": true,
	"notebookread": true, "readfile": true, "readmanyfiles": true, "readlints": true, "viewimage": true,
	"listdirectory": true, "listdir": true, "listfiles": true, "listcodedefinitionnames": true,
	"grepsearch": true, "grepfiles": true, "filesearch": true, "textsearch": true, "searchfiles": true,
	"searchfilecontent": true, "codebasesearch": true, "semanticsearch": true, "codesearch": true, "toolsearch": true,
	"webfetch": true, "websearch": true, "fetchwebpage": true, "googlewebsearch": true,
	"todoread": true, "todowrite": true, "updateplan": true, "askuserquestion": true, "exitplanmode": true,
}

// Reads reports whether a tool is a client's own and changes no file, whatever its arguments.
func Reads(tool string) bool { return readers[plain(tool)] }

// plain returns a tool's name without differences in spelling between clients: multi_edit, MultiEdit.
func plain(tool string) string { return strings.ReplaceAll(strings.ToLower(tool), "_", "") }

// The clients' names for the same members.
var (
	pathMembers = []string{"file_path", "filePath", "path", "notebook_path", "target_file", "target_notebook",
		"absolute_path", "absolutePath"}
	listMembers  = []string{"replacements", "edits", "files"}
	patchMembers = []string{"command", "input", "patch", "patchText", "patch_text"}
	shellMembers = []string{"command", "cmd", "script"}
	placeMembers = []string{"workdir", "dir_path", "directory", "working_directory", "cwd"}
	allMembers   = slices.Concat(pathMembers, listMembers, patchMembers, shellMembers, placeMembers)
)

// object has a tool's arguments.
type object map[string]jsonx.Value

// text returns the first of the members that is a non-empty string.
func (o object) text(names []string) string {
	for _, name := range names {
		var s string
		if jsonx.UnmarshalLenient(o[name], &s) == nil && s != "" {
			return s
		}
	}
	return ""
}

// words returns the first of the members that is a list of strings.
func (o object) words(names []string) []string {
	for _, name := range names {
		var list []string
		if jsonx.UnmarshalLenient(o[name], &list) == nil && len(list) > 0 {
			return list
		}
	}
	return nil
}

func (u use) read(r *reader, given jsonx.Value) {
	if u == patch && bytes.HasPrefix(bytes.TrimSpace(given), []byte("*** Begin Patch")) {
		r.patch(string(given)) // some clients pass the patch without JSON
		return
	}
	o, err := jsonx.Pick(bytes.NewReader(given), allMembers...)
	if err != nil || u == foreign {
		return
	}
	switch u {
	case view:
		if object(o).text([]string{"command"}) == "view" {
			return
		}
		r.files(o)
	case file:
		r.files(o)
	case patch:
		r.start(o)
		r.patch(object(o).text(patchMembers))
		if list := object(o).words(patchMembers); len(list) > 1 {
			r.patch(list[1])
		}
	case shell:
		r.start(o)
		r.command(object(o))
	}
}

// files records the files that a tool names, directly or in each of its parts.
func (r *reader) files(o object) {
	r.write(o.text(pathMembers))
	for _, name := range listMembers {
		var parts []object
		if jsonx.UnmarshalLenient(o[name], &parts) != nil {
			continue
		}
		for _, part := range parts {
			r.write(part.text(pathMembers))
		}
	}
}

// start sets the tool's working directory, if it has one.
func (r *reader) start(o object) {
	if dir := o.text(placeMembers); dir != "" && dir != r.dir {
		r.at.dir = dir
	}
}

// command records the writes of a shell command, given as a text or as a program's arguments.
func (r *reader) command(o object) {
	if text := o.text(shellMembers); text != "" {
		r.script(text)
		return
	}
	var words []word
	for _, text := range o.words(shellMembers) {
		words = append(words, word{text, true})
	}
	r.call(words, "")
}

// patch records the files named in a patch: *** Add File: PATH.
func (r *reader) patch(text string) {
	for line := range strings.Lines(text) {
		rest, ok := strings.CutPrefix(line, "*** ")
		if !ok {
			continue
		}
		verb, path, ok := strings.Cut(rest, ": ")
		if !ok {
			continue
		}
		switch verb {
		case "Add File", "Update File", "Delete File", "Move to":
			r.write(strings.TrimSpace(path))
		}
	}
}

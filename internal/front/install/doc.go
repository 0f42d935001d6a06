// Package install writes Pennypost into the configuration of agent clients and takes it out again.
//
// It loses nothing that belongs to the person. It merges entries into the existing text, which otherwise stays byte
// for byte. Before it first changes a file, it copies the file to NAME.pennypost-backup in the same directory. It
// replaces files whole or not at all, and does not touch a file that it cannot parse. Installing twice has the same
// effect as installing once. Uninstalling restores the exact bytes from before if no one else has changed the file
// since, and otherwise removes only our entries.
//
// It keeps no record of an installation: an entry is ours if it starts a program called pennypost with our arguments,
// and a file is as we left it if putting the same entries into the backup produces the same bytes.
//
// The file named after a client says what that client reads. docs/install.md gives the sources.
package install

import (
	"path/filepath"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
)

// Scope says whose configuration to edit.
type Scope string

// The scopes.
const (
	User    Scope = "user"    // for all of this person's projects
	Project Scope = "project" // for one project
)

// Options say what is installed and where.
type Options struct {
	Scope   Scope
	Home    string              // of the person
	Root    string              // of the project
	Getenv  func(string) string // clients find some of their directories through variables
	GOOS    string
	Binary  string    // absolute path of the program that clients start
	As      mail.Name // the agent's name; empty: made from client and directory
	Trust   bool      // make the client trust the hooks, where it would ask its user
	Ask     bool      // let the client ask its user before it uses our tools
	Replace bool      // replace scripts of the same names with a kit's, and keep copies
	// Dialogs makes the client's extension answer the client's dialogs when the person answers at the desk. It
	// applies to copilot, which asks for consent to that.
	Dialogs bool

	Orchestrator bool          // the post office resumes the orchestrator's session when it has ended
	Program      string        // the client's program for the post office to start; empty: found by its name
	Config       string        // the post office's config.toml; empty: not edited
	Room         mail.RoomName // of the project
}

// Client is an agent client whose configuration is known.
type Client struct {
	Name  string // on the command line, and in hook commands
	Title string
	// Program is its name on the PATH, empty if it has no command.
	Program string
	// Scopes are the scopes that it supports.
	Scopes []Scope
	// files returns the files of a scope, in the order of writing; those that say how the client is configured.
	files func(*Options) []file
	// resume are the arguments with which the program continues {session} for one turn, without a window; nil:
	// unknown.
	resume []string
	// allows describes the setting in its files that lets it use our tools without asking; "": none is needed, or no
	// file has one.
	allows string
	// notes returns the notes for the person after an installation.
	notes func(*Options) []string
	// disabled returns the file that disables the entries in the others, and the setting in it. Both are "" if no
	// file does.
	disabled func(*Options) (path, says string)
	// untrusted returns the events whose hooks of ours the client will not run before its user trusts them; nil: the
	// client asks for no trust.
	untrusted func(*Options) []string
	// warns names other settings that keep the client's agents from their mail; nil: none are known.
	warns func(*Options) []string
	// plugin returns our plugin in the client, "" without one.
	plugin func(*Options) string
}

// Clients returns all clients in the order of the manual.
func Clients() []Client {
	return []Client{claude(), codex(), gemini(), agy(), qwen(), cursor(), vscode(), copilot(), opencode(),
		windsurf(), goose(), pi(), cline()}
}

// file is one file of a client and the editor of our entries in it.
type file struct {
	path string
	what string // its name for a person: "hooks", "MCP server"
	editor
}

// editor puts our entries into the text of a file and takes them out. A nil text means that there is no file.
type editor interface {
	// put returns text with every entry as it should be.
	put(text []byte) ([]byte, error)
	// strip returns text without our entries, and the removed entries. It also removes containers that this leaves
	// empty, unless base, the text before the installation, has them. A nil base means that text is unknown.
	strip(text, base []byte) (rest []byte, taken []piece, err error)
	// replay puts the entries that strip took out into base.
	replay(base []byte, taken []piece) ([]byte, error)
	// entries returns our entries in text, whatever program they start.
	entries(text []byte) ([]Entry, error)
	// blank reports whether a text has no content that the client would miss.
	blank(text []byte) bool
}

// piece is an entry that was taken out of a file.
type piece struct {
	path   []string // of its container
	name   string   // of a member; empty for an element
	raw    string
	partly bool // it was among other people's entries, and cannot be put back the same way
}

// Entry is one entry of ours in a file.
type Entry struct {
	What   string // "hook SessionStart", "MCP server pennypost"
	Binary string // the program it starts
	Line   int    // in the file, 0 if unknown
}

// serverName is the name of our MCP server in every client.
const serverName = "pennypost"

// mcpArgs are the arguments with which a client starts the server.
func mcpArgs(o *Options) []string {
	return append([]string{"mcp"}, o.named()...)
}

// named are the arguments that name the agent.
func (o *Options) named() []string {
	if o.As == "" {
		return []string{}
	}
	return []string{"--as", string(o.As)}
}

// dir returns a directory of the person's: the one that a variable names, else one in the home directory.
func (o *Options) dir(variable string, below ...string) string {
	if dir := o.Getenv(variable); dir != "" {
		return dir
	}
	return filepath.Join(append([]string{o.Home}, below...)...)
}

// scoped returns a path of the person's, or the one in the project if the scope is the project.
func (o *Options) scoped(personal string, project ...string) string {
	if o.Scope == Project {
		return filepath.Join(append([]string{o.Root}, project...)...)
	}
	return personal
}

// ToolTimeout is how long clients should wait for a tool, in seconds: longer than the default of wait_for_messages.
const ToolTimeout = 660

// hookTimeout is how long clients should wait for a hook, in seconds. The hook itself gives up after one second.
const hookTimeout = 10

// raw returns v as JSON.
func raw(v any) string {
	b, err := jsonx.Marshal(v)
	if err != nil {
		panic("install: " + err.Error()) // cannot happen: the values are made here, of valid strings
	}
	return string(b)
}

// Package install writes Pennypost into the configuration of agent clients and takes it out again.
//
// Nothing that belongs to the person is lost. Entries are merged into the text that is there, which otherwise stays
// byte for byte. Before a file is changed for the first time it is copied to NAME.pennypost-backup beside it. Files
// are replaced whole or not at all. A file that cannot be parsed is not touched. Installing twice has the same effect
// as installing once. Taking out restores the exact bytes from before if nobody else has changed the file since, and
// otherwise removes only our entries.
//
// No record is kept of what was installed: an entry is ours if it starts a program called pennypost in our way, and
// the file is as we left it if putting the same entries into the backup makes the same bytes.
//
// What each client reads is in the file named after it. docs/install.md says where the facts are from.
package install

import (
	"path/filepath"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
)

// Scope says whose configuration is meant.
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
	Getenv  func(string) string // clients look for their files in places that variables name
	GOOS    string
	Binary  string    // absolute path of the program that clients start
	As      mail.Name // the agent's name; empty: it is made from client and directory
	Trust   bool      // tell the client to trust the hooks, where it asks its user
	Ask     bool      // leave it to the client to ask its user before our tools are used
	Replace bool      // replace scripts of the same names by a kit's, and keep copies of them
	// Dialogs has the client's extension answer what the client asks, when the person does at the desk. It is of
	// copilot, which asks for consent to that.
	Dialogs bool

	Orchestrator bool          // have the post office resume the orchestrator's session when it has ended
	Program      string        // the client's program, as the post office is to start it; empty: by its name
	Config       string        // the post office's config.toml; empty: nothing is done there
	Room         mail.RoomName // of the project
}

// Client is an agent client whose configuration is known.
type Client struct {
	Name  string // on the command line, and in hook commands
	Title string
	// Program is what it is called on the PATH, empty if it has no command.
	Program string
	// Scopes are those it has.
	Scopes []Scope
	// files returns the files of a scope, in the order in which they are written; those that say how the client is
	// configured.
	files func(*Options) []file
	// resume are the arguments with which the program goes on with {session} for one turn, without a window; nil: that
	// is not known.
	resume []string
	// allows is what, in its files, has it use our tools without asking; "": nothing is needed, or no file can say it.
	allows string
	// notes returns what a person has to know after an installation.
	notes func(*Options) []string
	// disabled returns the file that makes what stands in the others do nothing, and what it says. Both are "" if none
	// does.
	disabled func(*Options) (path, says string)
	// untrusted returns the events whose hooks of ours the client will not run before its user has trusted them; nil:
	// the client asks for no trust.
	untrusted func(*Options) []string
	// warns says what else keeps agents of the client from their mail; nil: nothing is known to.
	warns func(*Options) []string
	// plugin returns the plugin of ours that the client has, "" without one.
	plugin func(*Options) string
}

// Clients returns all clients in the order of the manual.
func Clients() []Client {
	return []Client{claude(), codex(), gemini(), agy(), qwen(), cursor(), vscode(), copilot(), opencode(),
		windsurf(), goose(), pi(), cline()}
}

// file is one file of a client and what belongs into it.
type file struct {
	path string
	what string // what a person calls it: "hooks", "MCP server"
	editor
}

// editor puts our entries into the text of a file and takes them out. A nil text is that of a file which is not there.
type editor interface {
	// put returns text with every entry as it should be.
	put(text []byte) ([]byte, error)
	// strip returns text without our entries, and what they were. What is empty without them goes too, unless base,
	// the text before the installation, has it. Without base nothing is known of that text.
	strip(text, base []byte) (rest []byte, taken []piece, err error)
	// replay puts into base what strip took out of a text.
	replay(base []byte, taken []piece) ([]byte, error)
	// entries tells what of ours stands in text, whatever program it starts.
	entries(text []byte) ([]Entry, error)
	// blank reports whether a text says nothing that the client would miss.
	blank(text []byte) bool
}

// piece is something that was taken out of a file.
type piece struct {
	path   []string // of what it was in
	name   string   // of a member; empty for an element
	raw    string
	partly bool // it stood among things that are not ours, and cannot be put back the same way
}

// Entry is one entry of ours in a file.
type Entry struct {
	What   string // "hook SessionStart", "MCP server pennypost"
	Binary string // the program it starts
	Line   int    // in the file, 0 if that is not known
}

// serverName is what our MCP server is called everywhere.
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

// dir returns a directory of the person's: the one that a variable names, else one below the home directory.
func (o *Options) dir(variable string, below ...string) string {
	if dir := o.Getenv(variable); dir != "" {
		return dir
	}
	return filepath.Join(append([]string{o.Home}, below...)...)
}

// scoped returns a path of the person's, or that below the project if that is what is installed for.
func (o *Options) scoped(personal string, project ...string) string {
	if o.Scope == Project {
		return filepath.Join(append([]string{o.Root}, project...)...)
	}
	return personal
}

// ToolTimeout is how long clients should wait for a tool, in seconds: longer than wait_for_messages waits by itself.
const ToolTimeout = 660

// hookTimeout is how long clients should wait for a hook, in seconds. The hook itself gives up after one second.
const hookTimeout = 10

// raw returns v as JSON.
func raw(v any) string {
	b, err := jsonx.Marshal(v)
	if err != nil {
		panic("install: " + err.Error()) // the values are made here, of valid strings
	}
	return string(b)
}

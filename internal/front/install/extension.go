package install

import (
	"bytes"
	"embed"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
)

// extensions are the programs that run inside clients that support such: common.js, and a file for each client.
//
//go:embed extension/*.js
var extensions embed.FS

// extensionTools are the six tools as an MCP client sees them (mcpserver TestToolsOfExtensions): extensions offer them
// before there is a session that they could ask.
//
//go:embed extension/tools.json
var extensionTools []byte

// ownFile is the editor of a file that is wholly ours, which its first words show.
type ownFile struct {
	text string
	// spare means that a file of the person's may be there in its stead.
	spare bool
}

// ownMark begins every such file, after the comment signs.
const ownMark = "written by pennypost install; pennypost uninstall removes it. Program: "

// ownProgram matches ownMark and the program that the file starts.
var ownProgram = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?://|#) ` + regexp.QuoteMeta(ownMark) + `(".*")\r?\n`)
})

func (f *ownFile) put(text []byte) ([]byte, error) {
	switch {
	case f.blank(text) || ownProgram().Match(text):
		return []byte(f.text), nil
	case f.spare:
		return text, nil
	}
	return nil, mail.Errorf(mail.Conflict,
		"a file of this name exists that is not Pennypost's. Rename or remove it, then install again")
}

func (f *ownFile) strip(text, _ []byte) ([]byte, []piece, error) {
	if !ownProgram().Match(text) {
		return text, nil, nil
	}
	return nil, []piece{{raw: string(text)}}, nil
}

func (f *ownFile) replay(_ []byte, taken []piece) ([]byte, error) { return []byte(taken[0].raw), nil }

func (f *ownFile) entries(text []byte) ([]Entry, error) {
	at := ownProgram().FindSubmatch(text)
	if at == nil {
		return nil, nil
	}
	var binary string
	if err := jsonx.Unmarshal(at[1], &binary); err != nil {
		return nil, mail.Errorf(mail.Invalid, "line 1: cannot read which program this starts: %w", err)
	}
	return []Entry{{"extension", binary, 1}}, nil
}

func (f *ownFile) blank(text []byte) bool { return len(bytes.TrimSpace(text)) == 0 }

// extension returns the JavaScript file that runs inside a client.
func extension(o *Options, client string) *ownFile {
	return &ownFile{text: extensionHead(o, client) + extensionBody(client)}
}

func extensionBody(client string) string {
	return "\nconst tools = " + strings.TrimSpace(string(extensionTools)) + "\n" + extensionText("common") +
		extensionText(client)
}

// extensionHead is the beginning of every extension, without its last line end.
func extensionHead(o *Options, client string) string {
	return "// " + ownMark + raw(o.Binary) + "\n" + extensionConstants(o, client)
}

func extensionConstants(o *Options, client string) string {
	return "const program = " + raw(o.Binary) + "\nconst client = " + raw(client) + "\nconst named = " + raw(o.named())
}

func extensionText(name string) string {
	text, err := extensions.ReadFile("extension/" + name + ".js")
	if err != nil {
		panic("install: there is no extension " + name) // cannot happen: they are compiled in
	}
	return string(text)
}

// patience returns the .npmrc next to opencode's configuration. At each start until it succeeds, opencode installs a
// package of its own there, and a plugin waits for that: for 70 seconds without a network, because npm retries twice,
// and for a minute in a network that swallows all packets (seen with 1.18.33). With a network this changes nothing.
func patience(o *Options) *ownFile {
	return &ownFile{spare: true, text: "# " + ownMark + raw(o.Binary) + "\n" +
		"# Without a network every start of opencode would take 70 seconds longer, as with any plugin.\n" +
		"fetch-retries=0\nfetch-timeout=5000\n"}
}

// pi is the pi coding agent (docs/extensions.md of @mariozechner/pi-coding-agent 0.73.1). It has no MCP; the
// extension offers the tools.
func pi() Client {
	return Client{
		Name: "pi", Title: "pi", Program: "pi", Scopes: []Scope{User, Project},
		resume: []string{"--session", "{session}", "-p", doorPrompt},
		files: func(o *Options) []file {
			dir := o.scoped(o.dir("PI_CODING_AGENT_DIR", ".pi", "agent"), ".pi")
			return []file{{filepath.Join(dir, "extensions", "pennypost.js"), "extension", extension(o, "pi")}}
		},
		notes: projectNote,
	}
}

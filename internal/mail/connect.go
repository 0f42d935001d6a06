package mail

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Connector connects the room to directories on this machine. Only the user may change them.
type Connector interface {
	// Bridges lists the room's bridges, with their status, in the order in which they were added.
	Bridges(ctx context.Context) ([]BridgeStatus, error)
	// AddBridge adds a bridge, syncs room and files once, and returns the result. Adding an existing bridge changes
	// its mode.
	AddBridge(ctx context.Context, b Bridge) (BridgeStatus, error)
	// RemoveBridge removes a bridge; its files stay as they are.
	RemoveBridge(ctx context.Context, id string) error
	// SyncBridge syncs room and files now and returns the result.
	SyncBridge(ctx context.Context, id string) (BridgeStatus, error)
	// RejectedLines rereads a bridge's files and returns the unreadable parts, at most MaxBadLines; Rejected in the
	// bridge's status counts all.
	RejectedLines(ctx context.Context, id string) ([]BadLine, error)
	// Workspaces lists the directories whose documents the room may show, in the order in which they were added.
	Workspaces(ctx context.Context) ([]Workspace, error)
	// AddWorkspace adds a workspace, or changes its label and directory, and registers its agent.
	AddWorkspace(ctx context.Context, w Workspace) (Workspace, error)
	// RemoveWorkspace removes a workspace and retires its agent. Its directory and its mail stay.
	RemoveWorkspace(ctx context.Context, id Name) error
}

// BridgeMode says in which directions a bridge carries mail.
type BridgeMode string

// The modes of a bridge.
const (
	BridgeBoth   BridgeMode = "both"
	BridgeMirror BridgeMode = "mirror" // from the room to the files only
	BridgeFollow BridgeMode = "follow" // from the files to the room only
)

// Bridge keeps the room in sync with a foreign mailbox on disk.
type Bridge struct {
	ID      string     `json:"id,omitempty"` // the dialect, plus a number if the room has several
	Dialect string     `json:"dialect"`
	Dir     string     `json:"dir"` // absolute
	Mode    BridgeMode `json:"mode,omitempty"`
	Added   Time       `json:"added,omitzero"`
	Machine Machine    `json:"machine,omitempty"` // where Dir is; "" if the room is in a file
}

// Check validates b by itself; an empty mode becomes both. Only the post office knows which dialects exist.
func (b *Bridge) Check() error {
	if b.Mode == "" {
		b.Mode = BridgeBoth
	}
	switch {
	case !slices.Contains([]BridgeMode{BridgeBoth, BridgeMirror, BridgeFollow}, b.Mode):
		return Errorf(Invalid, "%q is not a mode; use both, mirror (room to files) or follow (files to room)", b.Mode)
	case b.Dialect == "":
		return Errorf(Invalid, "the bridge names no dialect")
	}
	return checkDir(b.Dir)
}

// Protocol describes, for a room, a foreign protocol with files that a bridge syncs and possibly agents.
type Protocol struct {
	Name string // of the dialect
	// IDs is the form of new ids; "": any.
	IDs IDForm
	// AgentLife is how long mail to agents lives unless the sender says; 0: the room's default.
	AgentLife time.Duration
	// Trims says that the protocol's files keep mail only as long as the room's retention, read or not. In a room
	// with no other protocols, mail to a role then waits no longer than that.
	Trims bool
	// NamesItself reports, from an agent's client and tags on the roster, whether its sessions identify themselves
	// in the protocol. Nil: none do.
	NamesItself func(client string, tags []string) bool
	// Titles are roles that, as a bare word, address the holder in the sender's own team.
	Titles []string
}

// checkDir checks the spelling of a directory, not whether it exists.
func checkDir(dir string) error {
	if !filepath.IsAbs(dir) || filepath.Clean(dir) != dir || len(dir) > MaxPath || !utf8.ValidString(dir) ||
		strings.ContainsRune(dir, 0) {
		return Errorf(Invalid, "%q is not an absolute path of a directory", dir)
	}
	return nil
}

// BridgeChange is the journal's record of a bridge that was added, changed or removed.
type BridgeChange struct {
	Bridge
	Removed bool `json:"removed,omitzero"`
}

// BridgeStatus is a bridge and its condition.
type BridgeStatus struct {
	Bridge
	Seq     Seq    `json:"seq"`               // the files have all events up to here
	Behind  int    `json:"behind,omitzero"`   // events that the files do not have yet
	Failing string `json:"failing,omitempty"` // why the last attempt failed; empty: it succeeded
	Since   Time   `json:"since,omitzero"`    // when it began to fail
	// unreadable parts of the files; they are left in place
	Rejected int    `json:"rejected,omitzero"`
	Imported int    `json:"imported,omitzero"` // messages imported since the post office started
	Exported int    `json:"exported,omitzero"` // messages and marks exported since then
	Running  bool   `json:"running"`           // false: no one looks after it
	Notice   string `json:"notice,omitempty"`  // a note about these files for the person
}

// BadLine is a part of a bridge's files that cannot be understood. It is left in place.
type BadLine struct {
	// File is its path below the bridge's directory, with slashes; "" for a message that the room has refused since
	// the bridge started.
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitzero"` // where it begins, from 1; 0: the whole file
	Why  string `json:"why"`
	Text string `json:"text,omitempty"` // its first MaxExcerpt bytes, made valid UTF-8
}

// Limits on a list of bad lines.
const (
	MaxBadLines = 200
	MaxExcerpt  = 160
)

// Workspace is a directory in which an agent works. Documents named in its messages are read from there.
type Workspace struct {
	ID    Name   `json:"id"` // also the agent's name
	Label string `json:"label,omitempty"`
	Dir   string `json:"dir"` // absolute
	Added Time   `json:"added,omitzero"`
	// Machine is where Dir is; "" if the room is in a file.
	Machine Machine `json:"machine,omitempty"`
}

// Check validates w by itself.
func (w *Workspace) Check() error {
	id, err := ParseName(string(w.ID))
	if err != nil {
		return err
	}
	for _, r := range id { // it appears in URLs and in file names of systems that know workspaces
		if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-') {
			return Errorf(Invalid, "%q is not a valid workspace id: use letters, digits, '_' and '-'", id)
		}
	}
	if w.Label == "" {
		w.Label = string(id)
	}
	if len(w.Label) > MaxSubject || !utf8.ValidString(w.Label) || strings.ContainsAny(w.Label, "\x00\r\n") {
		return Errorf(Invalid, "%q is not a valid workspace label: use one line of at most %d bytes", w.Label,
			MaxSubject)
	}
	return checkDir(w.Dir)
}

// WorkspaceChange is the journal's record of a workspace that was added, changed or removed.
type WorkspaceChange struct {
	Workspace
	Removed bool `json:"removed,omitzero"`
}

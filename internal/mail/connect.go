package mail

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Connector ties the room to directories of this machine. Only the user may change them.
type Connector interface {
	// Bridges lists the room's bridges in the order in which they were added, and how they fare.
	Bridges(ctx context.Context) ([]BridgeStatus, error)
	// AddBridge adds a bridge, brings room and files in step once, and returns how that went. Adding what is there
	// changes its mode.
	AddBridge(ctx context.Context, b Bridge) (BridgeStatus, error)
	// RemoveBridge removes a bridge; its files stay as they are.
	RemoveBridge(ctx context.Context, id string) error
	// SyncBridge brings room and files in step now and returns how that went.
	SyncBridge(ctx context.Context, id string) (BridgeStatus, error)
	// RejectedLines names what a bridge's files hold that cannot be understood, at most MaxBadLines of it; Rejected in
	// the bridge's status counts all. The files are read anew.
	RejectedLines(ctx context.Context, id string) ([]BadLine, error)
	// Workspaces lists the directories whose documents the room may show, in the order in which they were added.
	Workspaces(ctx context.Context) ([]Workspace, error)
	// AddWorkspace adds a workspace or changes its label and directory, and registers its agent.
	AddWorkspace(ctx context.Context, w Workspace) (Workspace, error)
	// RemoveWorkspace forgets a workspace and retires its agent. Its directory stays as it is, and so does its mail.
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

// Bridge keeps the room in step with a foreign mailbox on disk.
type Bridge struct {
	ID      string     `json:"id,omitempty"` // the dialect, with a number if the room has several of it
	Dialect string     `json:"dialect"`
	Dir     string     `json:"dir"` // absolute
	Mode    BridgeMode `json:"mode,omitempty"`
	Added   Time       `json:"added,omitzero"`
	Machine Machine    `json:"machine,omitempty"` // where Dir is; "" where the room is in a file
}

// Check returns what is wrong with b by itself; "" as a mode means both. Which dialects there are is known to the post
// office.
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

// Protocol is what a room knows of a foreign protocol, whose files a bridge keeps and whose agents it may have.
type Protocol struct {
	Name string // the dialect's
	// IDs is how the protocol spells the ids of new mail; "": it takes any.
	IDs IDForm
	// AgentLife is how long mail to agents waits whose sender did not say; 0: as long as the room has it.
	AgentLife time.Duration
	// Trims says that its files keep mail as long as the room's retention and no longer, read or not. Mail to a role
	// waits no longer then, in a room that keeps no others.
	Trims bool
	// NamesItself reports, of the client and the tags that the roster has of an agent, whether it is one of the
	// protocol's, whose sessions say themselves who they are. Nil: none is.
	NamesItself func(client string, tags []string) bool
	// Titles are roles by whose bare word the one who has it in the sender's own team is addressed.
	Titles []string
}

// checkDir checks the spelling of a directory. Whether it is there is seen when it is used.
func checkDir(dir string) error {
	if !filepath.IsAbs(dir) || filepath.Clean(dir) != dir || len(dir) > MaxPath || !utf8.ValidString(dir) ||
		strings.ContainsRune(dir, 0) {
		return Errorf(Invalid, "%q is not the absolute path of a directory", dir)
	}
	return nil
}

// BridgeChange is the journal's record of a bridge that was added, changed or removed.
type BridgeChange struct {
	Bridge
	Removed bool `json:"removed,omitzero"`
}

// BridgeStatus is a bridge and how it fares.
type BridgeStatus struct {
	Bridge
	Seq     Seq    `json:"seq"`               // all events up to here are in the files
	Behind  int    `json:"behind,omitzero"`   // events that are not in the files yet
	Failing string `json:"failing,omitempty"` // why the last attempt failed; empty: it works
	Since   Time   `json:"since,omitzero"`    // since when it fails
	// pieces of the files that cannot be understood; they stay where they are
	Rejected int    `json:"rejected,omitzero"`
	Imported int    `json:"imported,omitzero"` // messages that came in since the post office started
	Exported int    `json:"exported,omitzero"` // messages and marks that went out since then
	Running  bool   `json:"running"`           // false: nobody looks after it
	Notice   string `json:"notice,omitempty"`  // what the person should know of these files
}

// BadLine is a piece of a bridge's files that cannot be understood. It stays where it is.
type BadLine struct {
	// File is its path below the bridge's directory, with slashes; "" for a message that the room has refused since
	// the bridge was started.
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitzero"` // where it begins, from 1; 0: the file is not understood as a whole
	Why  string `json:"why"`
	Text string `json:"text,omitempty"` // its first MaxExcerpt bytes, made valid UTF-8
}

// Limits on a list of bad lines.
const (
	MaxBadLines = 200
	MaxExcerpt  = 160
)

// Workspace is a directory in which an agent works. Documents that its messages name are shown from there.
type Workspace struct {
	ID    Name   `json:"id"` // the agent's name too
	Label string `json:"label,omitempty"`
	Dir   string `json:"dir"` // absolute
	Added Time   `json:"added,omitzero"`
	// Machine is where Dir is; "" where the room is in a file.
	Machine Machine `json:"machine,omitempty"`
}

// Check returns what is wrong with w by itself.
func (w *Workspace) Check() error {
	id, err := ParseName(string(w.ID))
	if err != nil {
		return err
	}
	for _, r := range id { // it stands in URLs and file names of the systems that know workspaces
		if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-') {
			return Errorf(Invalid, "%q cannot be the id of a workspace: use letters, digits, '_' and '-'", id)
		}
	}
	if w.Label == "" {
		w.Label = string(id)
	}
	if len(w.Label) > MaxSubject || !utf8.ValidString(w.Label) || strings.ContainsAny(w.Label, "\x00\r\n") {
		return Errorf(Invalid, "%q cannot be the label of a workspace: use one line of at most %d bytes", w.Label,
			MaxSubject)
	}
	return checkDir(w.Dir)
}

// WorkspaceChange is the journal's record of a workspace that was added, changed or removed.
type WorkspaceChange struct {
	Workspace
	Removed bool `json:"removed,omitzero"`
}

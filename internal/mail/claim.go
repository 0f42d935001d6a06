package mail

import (
	"context"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Claimer keeps who holds what, so that two agents do not destroy each other's work.
type Claimer interface {
	// Claims lists what is held, by holder and then by what it is.
	Claims(ctx context.Context, q ClaimQuery) (ClaimList, error)
	// Claim takes and gives up for the caller: all that is asked, or nothing where somebody else holds a part of it,
	// who is named in the answer. What the caller gives up and does not hold changes nothing. The user may give up
	// what others hold.
	Claim(ctx context.Context, r ClaimRequest) (Claimed, error)
}

// Target is what can be held: a path of a project's tree, or a name.
type Target struct {
	Name string `json:"name,omitempty"` // such as "build"; port:NUMBER belongs to Machine, others to the room
	// Machine is where the tree, or the port, is; "" where one machine has the room.
	Machine Machine `json:"machine,omitempty"`
	Root    string  `json:"root,omitempty"` // the tree: device and inode of its root (base/worktree)
	At      string  `json:"at,omitempty"`   // where that root was seen, for people
	Path    string  `json:"path,omitempty"` // in the tree, with slashes
	Form    Form    `json:"form,omitempty"` // of Path
}

// Form is what a path stands for.
type Form string

// The forms of paths.
const (
	FileForm  Form = ""      // one file
	BelowForm Form = "below" // a directory and all below it
	// GlobForm is a pattern: * and ? stand for what is between two slashes, [a-z] for one of several characters, **
	// for any number of directories.
	GlobForm Form = "glob"
)

// Limits of claims.
const (
	MaxClaims    = 500            // of one agent
	MaxClaimTime = 24 * time.Hour // of a claim that no session and no program ends
	MaxTargets   = 64             // of one request
	ClaimTime    = time.Hour      // how long such a claim lasts unless another time is said
)

// Claim is what an agent, in its session, or the user holds.
type Claim struct {
	Target
	Shared bool   `json:"shared,omitzero"` // others may hold it too, shared
	Why    string `json:"why,omitempty"`
	// Quiet says that a write has taken it: it ends so many seconds after the end of the turn. 0: the holder has.
	Quiet int `json:"quiet,omitzero"`
	// Process is the program that it ends with, as Presence spells it, and Runs the machine where that runs; "": none.
	Process string  `json:"process,omitempty"`
	Runs    Machine `json:"runs,omitempty"`
	Since   Time    `json:"since,omitzero"`
	Until   Time    `json:"until,omitzero"` // 0: as long as the session
}

// Lasts reports whether another claim of the same says just what c does: as long, as shared, and why.
func (c Claim) Lasts(o *Claim) bool {
	c.Target, c.Since = o.Target, o.Since
	return c == *o
}

// Holding is a claim and whose it is.
type Holding struct {
	Claim
	Agent Name `json:"agent"`
}

// Clock is since when it is held, as agents are told.
func (h *Holding) Clock() string { return h.Since.Std().UTC().Format("15:04 UTC") }

// Clash is something that was asked for and that another holds.
type Clash struct {
	Wanted Target  `json:"wanted"`
	Held   Holding `json:"held"`
}

// ClaimQuery says which claims are listed: all, or those of one agent.
type ClaimQuery struct {
	Agent Name `json:"agent,omitempty"`
}

// ClaimList answers Claims.
type ClaimList struct {
	Claims []Holding `json:"claims"`
}

// ClaimRequest is what is taken and given up.
type ClaimRequest struct {
	// Words are what people and models call what is to be taken or, with Release, given up: paths, in Dir unless they
	// are absolute, patterns, and names. The post office of the machine where they stand makes targets of them.
	Words   []string `json:"words,omitempty"`
	Dir     string   `json:"dir,omitempty"`
	Release bool     `json:"release,omitzero"`

	Take   []Target `json:"take,omitempty"`
	Shared bool     `json:"shared,omitzero"`
	Why    string   `json:"why,omitempty"` // one line
	// For is how many seconds it is held; 0: as long as the session, and ClaimTime where nothing else ends it.
	For     int    `json:"for,omitzero"`
	Process string `json:"process,omitempty"` // that it ends with
	// Write says that the targets are about to be written, in a turn of the caller's: what is free is held for as long
	// as the turn lasts and a little more, and the room's rule says what becomes of a write that clashes.
	Write bool `json:"write,omitzero"`
	// Look says that nothing is to be taken: the answer says who holds it. With Write, that happens in passing, to any
	// part of a directory, and both are told of a clash.
	Look bool `json:"look,omitzero"`
	// Wait says that the caller is told by mail, once, when what another holds is free.
	Wait bool `json:"wait,omitzero"`

	Free []Target `json:"free,omitempty"`
	All  bool     `json:"all,omitzero"` // gives up all
	Of   Name     `json:"of,omitempty"` // whose is given up; "": the caller's
}

// Claimed answers Claim.
type Claimed struct {
	Held    []Holding `json:"held"`              // that the caller holds now of what was asked for
	Clashes []Clash   `json:"clashes,omitempty"` // what others hold of it
	// Refused says of a Write that it must not happen.
	Refused bool      `json:"refused,omitzero"`
	Freed   []Holding `json:"freed,omitempty"`
}

// ClaimChange is the journal's record of what an agent, or the user, has come to hold, waits for, and gave up.
type ClaimChange struct {
	Agent Name     `json:"agent"`
	Take  []Claim  `json:"take,omitempty"`
	Wait  []Target `json:"wait,omitempty"`
	Free  []Target `json:"free,omitempty"` // of both
	By    Name     `json:"by,omitempty"`   // who gave it up for the agent; "": itself
}

// String is the target as people and models read it: a path in its tree, a directory with a slash behind it, a name.
func (t Target) String() string {
	switch {
	case t.Name != "":
		return t.Name
	case t.Form == BelowForm:
		return t.Path + "/"
	}
	return t.Path
}

// Same reports whether two targets are one and the same, wherever its root was seen.
func (t Target) Same(o Target) bool {
	t.At, o.At = "", ""
	return t == o
}

// Overlaps reports whether who has one of two targets may be in the way of who has the other. Of two patterns, and of
// a pattern and a directory, it says so if it may be.
func (t Target) Overlaps(o Target) bool {
	switch {
	case t.Machine != o.Machine || t.Name != o.Name || t.Root != o.Root:
		return false
	case t.Name != "":
		return true
	case t.Form == FileForm:
		return o.covers(t.Path)
	case o.Form == FileForm:
		return t.covers(o.Path)
	}
	return within(t.Fixed(), o.Fixed()) || within(o.Fixed(), t.Fixed())
}

// covers reports whether a path with a form is, or has, a file.
func (t Target) covers(file string) bool {
	switch t.Form {
	case BelowForm:
		return within(file, t.Path)
	case GlobForm:
		return matches(strings.Split(t.Path, "/"), strings.Split(file, "/"))
	}
	return t.Path == file
}

// within reports whether a path is a directory or below it.
func within(p, dir string) bool {
	rest, ok := strings.CutPrefix(p, dir)
	return dir == "." || ok && (rest == "" || rest[0] == '/')
}

// matches reports whether a pattern stands for a path, part by part.
func matches(pattern, parts []string) bool {
	for i, p := range pattern {
		if p == "**" {
			for n := range len(parts) - i + 1 {
				if matches(pattern[i+1:], parts[i+n:]) {
					return true
				}
			}
			return false
		}
		if i == len(parts) {
			return false
		}
		if ok, err := path.Match(p, parts[i]); err != nil || !ok {
			return false
		}
	}
	return len(pattern) == len(parts)
}

// Fixed is the directory, or the part of a pattern, in which all lies that it stands for.
func (t Target) Fixed() string {
	if t.Form != GlobForm {
		return t.Path
	}
	parts := strings.Split(t.Path, "/")
	if i := slices.IndexFunc(parts, wild); i >= 0 {
		parts = parts[:i]
	}
	if len(parts) == 0 {
		return "."
	}
	return strings.Join(parts, "/")
}

func wild(part string) bool { return strings.ContainsAny(part, "*?[") }

// maxStars bounds what a pattern costs that is compared with a long path.
const maxStars = 3

// Check returns what is wrong with t by itself.
func (t Target) Check() error {
	if len(t.Machine) > MaxName || !IsLine(string(t.Machine)) {
		return Errorf(Invalid, "%.100q is no machine: nothing was claimed", t.Machine)
	}
	if t.Name != "" {
		return t.checkName()
	}
	for _, text := range []string{t.Root, t.At, t.Path} {
		if text == "" || len(text) > MaxPath || !IsLine(text) {
			return Errorf(Invalid, "a claimed path is a line of at most %d bytes, without control characters, in a "+
				"tree: nothing was claimed", MaxPath)
		}
	}
	if path.IsAbs(t.Path) || path.Clean(t.Path) != t.Path || strings.HasPrefix(t.Path+"/", "../") {
		return Errorf(Invalid, "%q is no path in a project's tree: nothing was claimed", t.Path)
	}
	switch t.Form {
	case FileForm, BelowForm:
		if t.Path == "." {
			return Errorf(Invalid, "that is the whole tree %s, in which nobody else could work any more: claim a "+
				"directory or files of it. Nothing was claimed", t.At)
		}
	case GlobForm:
		return t.checkGlob()
	default:
		return Errorf(Invalid, "%q is no form of a path: nothing was claimed", t.Form)
	}
	return nil
}

func (t Target) checkGlob() error {
	all, stars := true, 0
	for part := range strings.SplitSeq(t.Path, "/") {
		if _, err := path.Match(part, ""); err != nil {
			return Errorf(Invalid, "%q is no pattern: nothing was claimed", t.Path)
		}
		all = all && strings.Trim(part, "*?") == ""
		if part == "**" {
			stars++
		}
	}
	switch {
	case all:
		return Errorf(Invalid, "%q stands for everything, and nobody else could work any more: claim a part of it. "+
			"Nothing was claimed", t.Path)
	case stars > maxStars:
		return Errorf(Invalid, "%q has more than %d times **: nothing was claimed", t.Path, maxStars)
	}
	return nil
}

func (t Target) checkName() error {
	ok := len(t.Name) <= MaxName && !strings.ContainsFunc(t.Name, func(r rune) bool {
		return notPlain(r) && (r < 'A' || r > 'Z') && !strings.ContainsRune("._:", r)
	})
	if !ok || t.Root != "" || t.Path != "" || t.Form != "" {
		return Errorf(Invalid, "%q is no name that can be claimed: it is made of letters, digits and . _ - : and at "+
			"most %d bytes long, such as build, port:8080 or deploy:staging. Nothing was claimed", t.Name, MaxName)
	}
	if number, ok := strings.CutPrefix(t.Name, portPrefix); ok {
		if n, err := strconv.ParseUint(number, 10, 16); err != nil || n == 0 || strconv.FormatUint(n, 10) != number {
			return Errorf(Invalid, "%q is no port: they are port:1 to port:65535. Nothing was claimed", t.Name)
		}
	}
	return nil
}

// portPrefix begins the names of a machine's ports.
const portPrefix = "port:"

// On returns t on a machine, if that is where it is.
func (t Target) On(m Machine) Target {
	t.Machine = ""
	if t.Root != "" || strings.HasPrefix(t.Name, portPrefix) {
		t.Machine = m
	}
	return t
}

// Check returns what is wrong with r by itself.
func (r *ClaimRequest) Check() error {
	if len(r.Words) > 0 {
		return Errorf(Invalid, "what the words %.100q stand for is not known here: paths are claimed on the "+
			"machine where "+
			"they are. Nothing was changed", r.Words)
	}
	if len(r.Take) > MaxTargets || len(r.Free) > MaxTargets {
		return Errorf(Limited, "more than %d things are claimed or given up at a time: nothing was changed",
			MaxTargets)
	}
	for _, t := range slices.Concat(r.Take, r.Free) {
		if r.Look && t.Path == "." && t.Form == BelowForm {
			t.Path = "all"
		}
		if err := t.Check(); err != nil {
			return err
		}
	}
	switch limit := int(MaxClaimTime / time.Second); {
	case r.For < 0 || r.For > limit:
		return Errorf(Invalid, "a claim lasts %s at most: nothing was claimed", MaxClaimTime)
	case len(r.Why) > MaxSubject || !IsLine(r.Why):
		return Errorf(Invalid, "why something is claimed is a line of at most %d bytes, without control characters: "+
			"nothing was claimed", MaxSubject)
	case r.Process != "":
		return checkWord("process", r.Process)
	}
	return nil
}

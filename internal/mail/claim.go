package mail

import (
	"context"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Claimer manages claims, so that two agents do not destroy each other's work.
type Claimer interface {
	// Claims lists the current claims, by holder and then by target.
	Claims(ctx context.Context, q ClaimQuery) (ClaimList, error)
	// Claim takes and releases claims for the caller. It takes all targets or, if another holds part of them, none;
	// the answer names the holder. Releasing a target that the caller does not hold changes nothing. The user may
	// release the claims of others.
	Claim(ctx context.Context, r ClaimRequest) (Claimed, error)
}

// Target is a claimable thing: a path in a project's tree, or a name.
type Target struct {
	Name string `json:"name,omitempty"` // such as "build"; port:NUMBER belongs to Machine, other names to the room
	// Machine is where the tree or the port is; "" where one machine has the room.
	Machine Machine `json:"machine,omitempty"`
	Root    string  `json:"root,omitempty"` // the tree: device and inode of its root (base/worktree)
	At      string  `json:"at,omitempty"`   // path of that root when seen, for people
	Path    string  `json:"path,omitempty"` // within the tree, with slashes
	Form    Form    `json:"form,omitempty"` // of Path
}

// Form says how to read a path.
type Form string

// The forms of paths.
const (
	FileForm  Form = ""      // one file
	BelowForm Form = "below" // a directory and everything below it
	// GlobForm is a pattern: * and ? match within one path element, [a-z] matches one of several characters, **
	// matches any number of directories.
	GlobForm Form = "glob"
)

// Limits of claims.
const (
	MaxClaims    = 500            // per agent
	MaxClaimTime = 24 * time.Hour // for a claim that no session and no program ends
	MaxTargets   = 64             // per request
	ClaimTime    = time.Hour      // default duration of such a claim
)

// Claim is a claim held by an agent, in its session, or by the user.
type Claim struct {
	Target
	Shared bool   `json:"shared,omitzero"` // others may hold it too, also shared
	Why    string `json:"why,omitempty"`
	// Quiet marks a claim made by a write: it ends this many seconds after the end of the turn. 0: the holder
	// claimed it.
	Quiet int `json:"quiet,omitzero"`
	// Process is the program whose end ends the claim, spelled as in Presence, and Runs is its machine; "": none.
	Process string  `json:"process,omitempty"`
	Runs    Machine `json:"runs,omitempty"`
	Since   Time    `json:"since,omitzero"`
	Until   Time    `json:"until,omitzero"` // 0: until the session ends
}

// Lasts reports whether c and o have the same terms: duration, sharing, reason and process.
func (c Claim) Lasts(o *Claim) bool {
	c.Target, c.Since = o.Target, o.Since
	return c == *o
}

// Holding is a claim with its holder.
type Holding struct {
	Claim
	Agent Name `json:"agent"`
}

// Clock is when the claim was taken, as agents see it.
func (h *Holding) Clock() string { return h.Since.Std().UTC().Format("15:04 UTC") }

// Clash is a requested target and the claim of another that overlaps it.
type Clash struct {
	Wanted Target  `json:"wanted"`
	Held   Holding `json:"held"`
}

// ClaimQuery selects claims: all, or those of one agent.
type ClaimQuery struct {
	Agent Name `json:"agent,omitempty"`
}

// ClaimList answers Claims.
type ClaimList struct {
	Claims []Holding `json:"claims"`
}

// ClaimRequest says which claims to take and to release.
type ClaimRequest struct {
	// Words are targets in the words of people and models, to take or, with Release, to release: paths, in Dir
	// unless absolute, patterns, and names. The post office of their machine turns them into targets.
	Words   []string `json:"words,omitempty"`
	Dir     string   `json:"dir,omitempty"`
	Release bool     `json:"release,omitzero"`

	Take   []Target `json:"take,omitempty"`
	Shared bool     `json:"shared,omitzero"`
	Why    string   `json:"why,omitempty"` // one line
	// For is the duration in seconds; 0: until the session ends, or ClaimTime if nothing else ends it.
	For     int    `json:"for,omitzero"`
	Process string `json:"process,omitempty"` // the program whose end ends it
	// Write says that the caller is about to write the targets in its current turn. Free ones are held until
	// shortly after the turn; the room's rule decides whether a clashing write is refused.
	Write bool `json:"write,omitzero"`
	// Look takes nothing: the answer names the holders. With Write it is a write in passing, to any part of a
	// directory, and both sides are told of a clash.
	Look bool `json:"look,omitzero"`
	// Wait asks for one message to the caller when a target held by another is free.
	Wait bool `json:"wait,omitzero"`

	Free []Target `json:"free,omitempty"`
	All  bool     `json:"all,omitzero"` // releases all
	Of   Name     `json:"of,omitempty"` // whose claims to release; "": the caller's
}

// Claimed answers Claim.
type Claimed struct {
	Held    []Holding `json:"held"`              // requested targets that the caller now holds
	Clashes []Clash   `json:"clashes,omitempty"` // claims of others that overlap the request
	// Refused says that a Write must not happen.
	Refused bool      `json:"refused,omitzero"`
	Freed   []Holding `json:"freed,omitempty"`
}

// ClaimChange is the journal's record of claims that an agent or the user took, waits for, and released.
type ClaimChange struct {
	Agent Name     `json:"agent"`
	Take  []Claim  `json:"take,omitempty"`
	Wait  []Target `json:"wait,omitempty"`
	Free  []Target `json:"free,omitempty"` // removed from both lists
	By    Name     `json:"by,omitempty"`   // who released them for the agent; "": itself
}

// String returns the target as people and models read it: a path in its tree, with a slash after a directory, or a
// name.
func (t Target) String() string {
	switch {
	case t.Name != "":
		return t.Name
	case t.Form == BelowForm:
		return t.Path + "/"
	}
	return t.Path
}

// Same reports whether two targets are equal, regardless of where the root was seen.
func (t Target) Same(o Target) bool {
	t.At, o.At = "", ""
	return t == o
}

// Overlaps reports whether the holders of two targets could get in each other's way. For two patterns, and for a
// pattern and a directory, it errs on the side of true.
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

// covers reports whether t is or contains a file.
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

// matches reports whether a pattern matches a path, element by element.
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

// Fixed is the path, or for a pattern the deepest directory that contains all its matches.
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

// maxStars bounds the cost of matching a pattern against a long path.
const maxStars = 3

// Check validates t by itself.
func (t Target) Check() error {
	if len(t.Machine) > MaxName || !IsLine(string(t.Machine)) {
		return Errorf(Invalid, "%.100q is not a machine name: nothing was claimed", t.Machine)
	}
	if t.Name != "" {
		return t.checkName()
	}
	for _, text := range []string{t.Root, t.At, t.Path} {
		if text == "" || len(text) > MaxPath || !IsLine(text) {
			return Errorf(Invalid, "a claimed path is one line of at most %d bytes without control characters, in "+
				"a work tree: nothing was claimed", MaxPath)
		}
	}
	if path.IsAbs(t.Path) || path.Clean(t.Path) != t.Path || strings.HasPrefix(t.Path+"/", "../") {
		return Errorf(Invalid, "%q is not a path inside a project's tree: nothing was claimed", t.Path)
	}
	switch t.Form {
	case FileForm, BelowForm:
		if t.Path == "." {
			return Errorf(Invalid, "that claims the whole tree %s and would block every other agent: claim a "+
				"directory or files in it. Nothing was claimed", t.At)
		}
	case GlobForm:
		return t.checkGlob()
	default:
		return Errorf(Invalid, "%q is not a form of path: nothing was claimed", t.Form)
	}
	return nil
}

func (t Target) checkGlob() error {
	all, stars := true, 0
	for part := range strings.SplitSeq(t.Path, "/") {
		if _, err := path.Match(part, ""); err != nil {
			return Errorf(Invalid, "%q is not a valid pattern: nothing was claimed", t.Path)
		}
		all = all && strings.Trim(part, "*?") == ""
		if part == "**" {
			stars++
		}
	}
	switch {
	case all:
		return Errorf(Invalid, "%q matches everything and would block every other agent: claim a part of it. "+
			"Nothing was claimed", t.Path)
	case stars > maxStars:
		return Errorf(Invalid, "%q has more than %d **: nothing was claimed", t.Path, maxStars)
	}
	return nil
}

func (t Target) checkName() error {
	ok := len(t.Name) <= MaxName && !strings.ContainsFunc(t.Name, func(r rune) bool {
		return notPlain(r) && (r < 'A' || r > 'Z') && !strings.ContainsRune("._:", r)
	})
	if !ok || t.Root != "" || t.Path != "" || t.Form != "" {
		return Errorf(Invalid, "%q is not a valid name for a claim: use letters, digits and . _ - :, at most %d "+
			"bytes, such as build, port:8080 or deploy:staging. Nothing was claimed", t.Name, MaxName)
	}
	if number, ok := strings.CutPrefix(t.Name, portPrefix); ok {
		if n, err := strconv.ParseUint(number, 10, 16); err != nil || n == 0 || strconv.FormatUint(n, 10) != number {
			return Errorf(Invalid, "%q is not a port: use port:1 to port:65535. Nothing was claimed", t.Name)
		}
	}
	return nil
}

// portPrefix begins the names of a machine's ports.
const portPrefix = "port:"

// On returns t with its machine set to m if t belongs to a machine.
func (t Target) On(m Machine) Target {
	t.Machine = ""
	if t.Root != "" || strings.HasPrefix(t.Name, portPrefix) {
		t.Machine = m
	}
	return t
}

// Check validates r by itself.
func (r *ClaimRequest) Check() error {
	if len(r.Words) > 0 {
		return Errorf(Invalid, "cannot resolve %.100q here: claim paths on the machine that has them. Nothing was "+
			"changed", r.Words)
	}
	if len(r.Take) > MaxTargets || len(r.Free) > MaxTargets {
		return Errorf(Limited, "at most %d things can be claimed or released at a time: nothing was changed",
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
		return Errorf(Invalid, "a claim lasts at most %s: nothing was claimed", MaxClaimTime)
	case len(r.Why) > MaxSubject || !IsLine(r.Why):
		return Errorf(Invalid, "the reason for a claim is one line of at most %d bytes without control characters: "+
			"nothing was claimed", MaxSubject)
	case r.Process != "":
		return checkWord("process", r.Process)
	}
	return nil
}

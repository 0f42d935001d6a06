package claims

import (
	"context"
	"path/filepath"
	"time"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/base/worktree"
	"pennypost/internal/mail"
	"pennypost/internal/office/edits"
	"pennypost/internal/policy"
)

// Guard claims agents' writes before they happen.
type Guard struct {
	// Rule returns a room's rule for conflicting writes.
	Rule  func(mail.RoomName) policy.ClaimRule
	Watch *Watch // watches claimed files
	// Others returns the working directories of live sessions of a room's other agents.
	Others func(room mail.RoomName, but mail.Name) (dirs []string)

	find find // nil: worktree.Find; tests simulate another disk
}

// find locates a path, like worktree.Find.
type find func(path, dir string) (worktree.Place, error)

// Use is a tool call that is about to run.
type Use struct {
	Room  mail.RoomName
	Agent mail.Name
	Tool  string
	ID    string // of this call; "": the client has none
	Given jsonx.Value
	Dir   string // the session's working directory
	Home  string // the session's value of ~
}

// Write claims for an agent the writes that a tool call's text shows, and returns conflicting claims. An agent that
// is alone in its tree claims nothing. Files that a command may change in passing, as git does, are checked, not
// claimed.
func (g *Guard) Write(ctx context.Context, as mail.Claimer, u Use) (out mail.Claimed, err error) {
	if g.Rule(u.Room) == policy.ClaimsOff {
		return out, nil
	}
	g.Watch.At(u.Room, u.Dir)
	if edits.Reads(u.Tool) {
		return out, nil
	}
	w := edits.Of(u.Tool, u.Given, u.Dir, u.Home)
	found := g.find
	if found == nil {
		found = worktree.Find
	}
	writes := append(targetsOf(w.Paths, u.Dir, mail.FileForm, found),
		targetsOf(w.Names, u.Dir, mail.FileForm, worktree.FindName)...)
	writes = writes[:min(len(writes), mail.MaxTargets)]
	if out, err = g.claim(ctx, as, u, writes, targetsOf(w.All, u.Dir, mail.BelowForm, worktree.Find)); !out.Refused {
		g.Watch.Began(seat{u.Room, u.Agent}, u.ID, writes)
	}
	return out, err
}

// claim claims writes, and checks who holds the files in passes.
func (g *Guard) claim(ctx context.Context, as mail.Claimer, u Use, writes, passes []mail.Target) (out mail.Claimed,
	err error) {
	if len(writes) > 0 && !g.shares(u, writes[0].Root) {
		passes, writes = append(passes, writes...), nil // others may hold claims anyway
	}
	if len(writes) > 0 {
		if out, err = as.Claim(ctx, mail.ClaimRequest{Take: writes, Write: true}); err != nil || out.Refused {
			return out, err
		}
		g.Watch.Holds(u.Room, out.Held)
	}
	if len(passes) == 0 {
		return out, nil
	}
	also, err := as.Claim(ctx, mail.ClaimRequest{Take: passes, Write: true, Look: true})
	out.Clashes, out.Refused = append(out.Clashes, also.Clashes...), also.Refused
	return out, err
}

// Ended records that an agent's tool call has ended or, without an id, that all have.
func (g *Guard) Ended(room mail.RoomName, agent mail.Name, id string) {
	g.Watch.Ended(seat{room, agent}, id, time.Now())
}

// targetsOf returns the targets for paths. It skips paths that cannot be found, and names with control characters,
// which no message could show; the others are still claimed.
func targetsOf(paths []string, dir string, form mail.Form, find find) (targets []mail.Target) {
	for _, path := range paths[:min(len(paths), mail.MaxTargets)] {
		p, err := find(path, dir)
		if err != nil || p.Ignored() {
			continue
		}
		t := mail.Target{Root: p.Root, At: p.At, Path: p.Path, Form: form}
		if p.Dir {
			t.Form = mail.BelowForm
		}
		if p.Path != "." && t.Check() != nil {
			continue
		}
		targets = append(targets, t)
	}
	return targets
}

// shares reports whether another agent works in a tree.
func (g *Guard) shares(u Use, root string) bool {
	for _, dir := range g.Others(u.Room, u.Agent) {
		if !filepath.IsAbs(dir) {
			continue
		}
		if p, err := worktree.Find(dir, dir); err == nil && p.Root == root {
			return true
		}
	}
	return false
}

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

// Guard has writes of agents claimed before they happen.
type Guard struct {
	// Rule says what becomes of a write that clashes, in a room.
	Rule  func(mail.RoomName) policy.ClaimRule
	Watch *Watch // of what is claimed
	// Others returns where the live sessions of a room's other agents work.
	Others func(room mail.RoomName, but mail.Name) (dirs []string)

	find find // nil: worktree.Find. Tests have another disk
}

// find says where a path is: worktree.Find and its like.
type find func(path, dir string) (worktree.Place, error)

// Use is a tool that an agent is about to use.
type Use struct {
	Room  mail.RoomName
	Agent mail.Name
	Tool  string
	ID    string // of this use; "": the client has none
	Given jsonx.Value
	Dir   string // where the session works
	Home  string // what ~ stands for there
}

// Write claims for an agent what the use of a tool writes, as far as its text tells, and returns what is in the way.
// An agent that is alone in its tree claims nothing. What an act may change in passing, as git does, is not claimed.
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

// claim claims what is written, and looks at who holds what may be changed in passing.
func (g *Guard) claim(ctx context.Context, as mail.Claimer, u Use, writes, passes []mail.Target) (out mail.Claimed,
	err error) {
	if len(writes) > 0 && !g.shares(u, writes[0].Root) {
		passes, writes = append(passes, writes...), nil // others may hold it all the same
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

// Ended notes that a call of an agent's tool has come to its end or, without an id, that all have.
func (g *Guard) Ended(room mail.RoomName, agent mail.Name, id string) {
	g.Watch.Ended(seat{room, agent}, id, time.Now())
}

// targetsOf returns what paths stand for that can be claimed. What cannot be found is not claimed, nor is what nobody
// could be told of, because its name has control characters: the others of the same call are.
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

package fold

import (
	"slices"
	"strconv"

	"pennypost/internal/mail"
)

// Identify gives b the id of the same bridge, if the room has it, or a new one.
func (s *State) Identify(b *mail.Bridge, now mail.Time) {
	b.Added = now
	for _, old := range s.Bridges {
		if sameBridge(&old, b) {
			b.ID, b.Added = old.ID, old.Added
			return
		}
	}
	b.ID = b.Dialect
	for n := 2; s.Bridge(b.ID) >= 0; n++ {
		b.ID = b.Dialect + "-" + strconv.Itoa(n)
	}
}

// Bridge returns the index of a bridge in Bridges; -1: there is none.
func (s *State) Bridge(id string) int {
	return slices.IndexFunc(s.Bridges, func(b mail.Bridge) bool { return b.ID == id })
}

func (s *State) applyBridge(c *mail.BridgeChange) (counted bool) {
	i := s.Bridge(c.ID)
	switch {
	case c.Machine != "" && !c.Removed && i >= 0 && !sameBridge(&s.Bridges[i], &c.Bridge):
		return false // another machine's got the id at the same time
	case c.Removed && i >= 0:
		s.Bridges = slices.Delete(s.Bridges, i, i+1)
	case c.Removed:
	case i >= 0:
		s.Bridges[i] = c.Bridge
	default:
		s.Bridges = append(s.Bridges, c.Bridge)
	}
	return true
}

func sameBridge(a, b *mail.Bridge) bool {
	return a.Dialect == b.Dialect && a.Dir == b.Dir && a.Machine == b.Machine
}

// Workspace returns the index of a workspace in Workspaces; -1: there is none.
func (s *State) Workspace(id mail.Name) int {
	return slices.IndexFunc(s.Workspaces, func(w mail.Workspace) bool { return w.ID == id })
}

func (s *State) applyWorkspace(c *mail.WorkspaceChange) {
	i := s.Workspace(c.ID)
	switch {
	case c.Removed && i >= 0:
		s.Workspaces = slices.Delete(s.Workspaces, i, i+1)
	case c.Removed:
	case i >= 0:
		s.Workspaces[i] = c.Workspace
	default:
		s.Workspaces = append(s.Workspaces, c.Workspace)
	}
}

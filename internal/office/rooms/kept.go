package rooms

import (
	"context"
	"slices"
	"strings"
	"time"

	"pennypost/internal/mail"
	"pennypost/internal/room/mailroom"
)

// keptMost is how many agents, waits, and stuck groups of each kind are kept in memory for a closed room.
const keptMost = 100

// Kept returns the part of a closed room that q, which is Checked, asks for, as of its closing. known is false if
// that is unknown.
func (o *Set) Kept(name mail.RoomName, q mail.FleetQuery) (part mail.FleetRoom, known bool) {
	o.recall(name)
	o.mu.Lock()
	all, known := o.kept[name]
	o.mu.Unlock()
	if !known {
		return part, false
	}
	part.Room, part.AsOf = name, all.AsOf
	if q.Wants(mail.FleetAgents) {
		part.Agents = agentsOf(all.Agents, q)
	}
	if q.Wants(mail.FleetStuck) {
		part.Stuck = stuckOf(all.Stuck, q)
	}
	if q.Wants(mail.FleetWaiting) {
		shown := min(len(all.Waiting.Waiting), q.Limit)
		part.Waiting = &mail.WaitingList{Waiting: slices.Clone(all.Waiting.Waiting[:shown]),
			Rest: all.Waiting.Rest + len(all.Waiting.Waiting) - shown}
	}
	return part, true
}

// keep records the state of a room that is about to be closed.
func (o *Set) keep(room *mailroom.Room) {
	ask := mail.FleetQuery{Part: mail.FleetAll, Limit: keptMost}
	all, err := ask.Ask(context.Background(), room.As(mail.User))
	if err != nil {
		o.Log.Warn("summary of a closed room not known", "room", room.Name(), "err", err)
		return
	}
	all.Claims = nil // a room closed for being idle holds nothing, see Run
	all.Room, all.AsOf, all.Stuck = room.Name(), mail.TimeOf(time.Now()), withoutTexts(all.Stuck)
	o.mu.Lock()
	o.kept[all.Room] = all
	o.mu.Unlock()
}

// withoutTexts removes texts that may be long from stuck mail: it is kept for a thousand rooms.
func withoutTexts(list *mail.StuckList) *mail.StuckList {
	for _, g := range list.Groups {
		for i := range g.Mail {
			g.Mail[i].Body, g.Mail[i].Metadata, g.Mail[i].Docs = "", nil, nil
		}
	}
	return list
}

// agentsOf returns the agents of a list that q asks for. If the list is cut, so is the answer.
func agentsOf(all *mail.AgentList, q mail.FleetQuery) *mail.AgentList {
	out := &mail.AgentList{Agents: []mail.Agent{}, States: make(map[mail.State]int), More: all.More}
	needle := strings.ToLower(q.Search)
	for _, a := range all.Agents {
		if !mail.Says(needle, a.Name, a.Aliases, a.Task, a.Roles, a.Tags) {
			continue
		}
		out.States[a.State]++
		if len(q.States) > 0 && !slices.Contains(q.States, a.State) {
			continue
		}
		if out.Total++; len(out.Agents) < q.Limit {
			out.Agents = append(out.Agents, a)
		} else {
			out.More = true
		}
	}
	if needle == "" { // they were counted before the list was cut
		out.States = all.States
		if len(q.States) == 0 {
			out.Total = all.Total
		}
	}
	return out
}

// stuckOf returns the groups of each kind in a list that q asks for.
func stuckOf(all *mail.StuckList, q mail.FleetQuery) *mail.StuckList {
	out := &mail.StuckList{Groups: []mail.StuckGroup{}, Kinds: all.Kinds}
	shown := make(map[mail.StuckKind]int)
	for _, g := range all.Groups {
		if shown[g.Kind]++; shown[g.Kind] <= q.Limit {
			if q.Mail > 0 {
				g.Mail = g.Mail[:min(len(g.Mail), q.Mail)]
			}
			out.Groups = append(out.Groups, g)
		}
	}
	return out
}

package room

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"pennypost/internal/base/wording"
	"pennypost/internal/front/cli"
	"pennypost/internal/mail"
	"pennypost/internal/wire/client"
)

// nothing says that a list is empty and, to the person, which other rooms have something; verb lists it.
func (a *app) nothing(ctx context.Context, here, verb string, count func(context.Context, *client.Office) elsewhere) {
	who, err := a.Who()
	if err != nil || who != mail.User || a.Stdout.Reading {
		a.Own(cli.OurWords(here + "."))
		return
	}
	if words := a.lookElsewhere(ctx, count); words != "" {
		a.Own(cli.OurWords(here + " here; " + words + ": pennypost " + verb + " --all-rooms"))
		return
	}
	a.Own(cli.OurWords(here + "."))
}

// elsewherePatience is how long an empty list waits for counts of other rooms.
const elsewherePatience = time.Second

// elsewhere is a count by room.
type elsewhere map[mail.RoomName]int

// lookElsewhere says how much there is in rooms other than the one that was asked about; "" if nothing, or if that is
// not known immediately.
func (a *app) lookElsewhere(ctx context.Context, count func(context.Context, *client.Office) elsewhere) string {
	here, err := a.RoomName()
	if err != nil {
		return ""
	}
	office, err := a.Post()
	if err != nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, elsewherePatience)
	defer cancel()
	found := count(ctx, office)
	delete(found, here)
	names := make([]mail.RoomName, 0, len(found))
	for name, n := range found {
		if n > 0 {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(x, y mail.RoomName) int {
		return cmp.Or(cmp.Compare(found[y], found[x]), cmp.Compare(x, y))
	})
	words := make([]string, 0, maxRooms)
	for _, name := range names[:min(len(names), maxRooms)] {
		words = append(words, strconv.Itoa(found[name])+" in "+cli.OneLine(string(name)))
	}
	out := strings.Join(words, ", ")
	if more := len(names) - maxRooms; more > 0 {
		out += " and more in " + wording.Plural(more, "room")
	}
	return out
}

// inFleet counts a part of all rooms.
func inFleet(part mail.FleetPart, count func(*mail.FleetRoom) int) func(context.Context, *client.Office) elsewhere {
	return func(ctx context.Context, office *client.Office) elsewhere {
		out := make(elsewhere)
		all, _ := office.Fleet(ctx, mail.FleetQuery{Part: part, Limit: 1})
		for i := range all.Rooms {
			out[all.Rooms[i].Room] = count(&all.Rooms[i])
		}
		return out
	}
}

// The counts: stuck groups, waits for an answer, and agents on the roster.
var (
	stuckElsewhere = inFleet(mail.FleetStuck, func(r *mail.FleetRoom) (n int) {
		for _, groups := range r.Stuck.Kinds {
			n += groups
		}
		return n
	})
	waitsElsewhere = inFleet(mail.FleetWaiting, func(r *mail.FleetRoom) int {
		return len(r.Waiting.Waiting) + r.Waiting.Rest
	})
	agentsElsewhere = inFleet(mail.FleetAgents, func(r *mail.FleetRoom) int { return r.Agents.Total })
)

// mailElsewhere counts the mail waiting for the user.
func mailElsewhere(ctx context.Context, office *client.Office) elsewhere {
	out := make(elsewhere)
	all, _ := office.Rooms(ctx)
	for i := range all {
		out[all[i].Name] = max(all[i].Unread, all[i].Needs)
	}
	return out
}

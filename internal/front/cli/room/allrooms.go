package room

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"pennypost/internal/base/wording"
	"pennypost/internal/front/cli"
	"pennypost/internal/mail"
	"pennypost/internal/wire/client"
)

// allRoomsFlag switches lists from one room to all. Agents do not have it.
func allRoomsFlag(into *bool, about string) cli.Flag {
	return cli.Flag{Into: into, Name: "all-rooms", About: about}
}

// oneRoom is a flag that applies to one room only.
type oneRoom struct {
	flag  string
	given bool
}

// allRooms returns the post office for a list of all rooms, and refuses flags that apply to one room.
func (a *app) allRooms(with ...oneRoom) (*client.Office, error) {
	who, err := a.Who()
	switch {
	case err != nil:
		return nil, err
	case who != mail.User:
		return nil, cli.Hinted(mail.Errorf(mail.Denied,
			"--all-rooms is for the user; the agent %s has only its room", who), "omit --all-rooms")
	case a.Room != "":
		return nil, cli.Usage("use either --room or --all-rooms, not both")
	}
	for _, f := range with {
		if f.given {
			return nil, cli.Usage("--%s applies to one room: omit --all-rooms, and name the room with --room", f.flag)
		}
	}
	return a.Post()
}

// readingTime is how long it asks again for rooms that were not read yet: each query reads a few of them.
const readingTime = 2 * time.Second

// fleet returns a part of all rooms.
func (a *app) fleet(ctx context.Context, q mail.FleetQuery, with ...oneRoom) (mail.Fleet, error) {
	office, err := a.allRooms(with...)
	if err != nil {
		return mail.Fleet{}, err
	}
	began := time.Now()
	for {
		all, err := office.Fleet(ctx, q)
		if err != nil || len(all.NotRead) == 0 || time.Since(began) > readingTime {
			return all, err
		}
	}
}

// sayLeftOut names the rooms that a list omits because they were not read.
func (a *app) sayLeftOut(notRead, away []mail.RoomName, then string) {
	if n := len(notRead); n > 0 {
		a.Out.Line("%s", a.Out.Dim(wording.Plural(n, "room")+" not read yet: "+someRooms(notRead)+". "+then))
	}
	if len(away) > 0 {
		a.Out.Line("%s", a.Out.Red("Cannot be read (see the log): "+someRooms(away)))
	}
}

// maxRooms limits the rooms that a line names.
const maxRooms = 3

func someRooms(names []mail.RoomName) string {
	return cli.Joined(names[:min(len(names), maxRooms)], ", ") + andMore(len(names)-maxRooms)
}

// listOf prints rows of all rooms, or none if there are none, and names the rooms left out.
func (a *app) listOf(all *mail.Fleet, none string, rows [][]string, steps []cli.Step, dimmed int) {
	if len(rows) == 0 {
		a.Own(cli.OurWords(none))
	}
	a.Out.List(rows, steps, dimmed)
	a.sayLeftOut(all.NotRead, all.Away, "Run the command again.")
}

// sayMore says that a room has n more than are listed.
func (a *app) sayMore(room mail.RoomName, n int, verb string) {
	if n > 0 {
		a.Out.Line("%s", a.Out.Dim(strconv.Itoa(n)+" more in "+cli.OneLine(string(room))+": pennypost "+verb+
			" --room "+cli.Quoted(string(room))))
	}
}

// agentsAllRooms lists the agents of all rooms.
func (a *app) agentsAllRooms(ctx context.Context, q mail.RosterQuery) error {
	ask := mail.FleetQuery{Part: mail.FleetAgents, Search: q.Search, States: q.States, Limit: q.Limit}
	all, err := a.fleet(ctx, ask,
		oneRoom{"role", q.Role != ""}, oneRoom{"tag", q.Tag != ""}, oneRoom{"after", q.After != ""})
	return cli.Answer(a.App, all, err, func(all mail.Fleet) error {
		var rows [][]string
		for i := range all.Rooms {
			r := &all.Rooms[i]
			gists := a.gists(ctx, r.Room, r.Agents.Agents)
			for k := range r.Agents.Agents {
				row := a.agentRow(&r.Agents.Agents[k], gists)
				rows = append(rows, append([]string{cli.OneLine(string(r.Room))}, row...))
			}
		}
		none := "No agent is registered in any room. To register one: pennypost agents register NAME"
		if q.Search != "" || len(q.States) > 0 {
			none = "No agent in any room matches. To list all: pennypost agents --all-rooms"
		}
		a.listOf(&all, none, rows, []cli.Step{
			cli.At(1, cli.AtMost(32)), cli.At(6, cli.AtMost(48)), cli.At(5, nil), cli.At(3, cli.Brief),
			cli.At(6, cli.AtMost(24)), cli.At(0, cli.AtMost(16)), cli.At(1, cli.AtMost(20)), cli.At(6, nil),
			cli.At(0, cli.AtMost(10)), cli.At(3, nil), cli.At(1, cli.AtMost(14)), cli.At(4, nil),
		}, 3)
		for _, r := range all.Rooms {
			a.sayMore(r.Room, r.Agents.Total-len(r.Agents.Agents), "agents")
		}
		return nil
	})
}

// stuckThing is a stuck thing in a room: a message, or an agent that is stuck without mail.
type stuckThing struct {
	room mail.RoomName
	*mail.StuckGroup
	it *mail.Item // nil: no mail
}

// stuckThings returns the stuck things of all rooms, kind by kind, and the groups of which there is more than is
// listed.
func stuckThings(all *mail.Fleet, kind mail.StuckKind) (things, rest []stuckThing) {
	for _, r := range all.Rooms {
		for i := range r.Stuck.Groups {
			g := &r.Stuck.Groups[i]
			if kind != "" && kind != g.Kind {
				continue
			}
			for k := range g.Mail {
				things = append(things, stuckThing{r.Room, g, &g.Mail[k]})
			}
			if len(g.Mail) == 0 {
				things = append(things, stuckThing{r.Room, g, nil})
			} else if g.More || g.Count > len(g.Mail) {
				rest = append(rest, stuckThing{r.Room, g, nil})
			}
		}
	}
	slices.SortStableFunc(things, func(x, y stuckThing) int {
		return cmp.Compare(slices.Index(mail.StuckKinds(), x.Kind), slices.Index(mail.StuckKinds(), y.Kind))
	})
	return things, rest
}

// whyNoMail says why an agent is stuck that no mail waits for.
func whyNoMail(g *mail.StuckGroup) string {
	if len(g.Claims) == 0 {
		return wording.Plural(len(g.Dialogs), "dialog")
	}
	c := &g.Claims[0]
	text := cli.OneLine(c.Wanted.String()) + ", which " + cli.OneLine(string(c.Held.Agent)) + " holds"
	if n := len(g.Claims) - 1; n > 0 {
		text += " and " + strconv.Itoa(n) + " more"
	}
	return text
}

// stuckAllRooms lists what does not move in all rooms: a row for each message, and for each agent that is stuck
// without one.
func (a *app) stuckAllRooms(ctx context.Context, q mail.StuckQuery) error {
	all, err := a.fleet(ctx, mail.FleetQuery{Part: mail.FleetStuck, Limit: q.Limit, Mail: q.Mail},
		oneRoom{"for", q.For != ""})
	return cli.Answer(a.App, all, err, func(all mail.Fleet) error {
		things, rest := stuckThings(&all, q.Kind)
		var messages []shownMessage
		for _, s := range things {
			if s.it != nil {
				messages = append(messages, shownMessage{s.room, s.it.ID, s.it.Seq})
			}
		}
		numbers, rows := a.number("", messages), make([][]string, len(things))
		for i, s := range things {
			row := []string{"", string(s.Kind), cli.OneLine(string(s.room)), cli.Addressees([]mail.Address{s.For}),
				a.Out.Ago(s.Since), whyNoMail(s.StuckGroup)}
			if s.it != nil {
				row[0], row[4], row[5], numbers = numbers[0], a.Out.Ago(s.it.Sent), a.headline(s.it), numbers[1:]
			}
			rows[i] = row
		}
		a.listOf(&all, "Nothing is stuck in any room.", rows, []cli.Step{
			cli.At(4, cli.Brief), cli.At(3, cli.AtMost(24)), cli.At(2, cli.AtMost(16)), cli.At(3, cli.AtMost(16)),
			cli.At(2, cli.AtMost(10)), cli.At(4, nil),
		}, 4)
		for _, s := range rest {
			a.Out.Line("%s", a.Out.Dim("More for "+cli.Addressees([]mail.Address{s.For})+": pennypost stuck --room "+
				cli.Quoted(string(s.room))+" --for "+cli.Quoted(string(s.For))+" --mail 1000"))
		}
		if len(rows) > 0 {
			a.Out.Line("%s", a.Out.Dim("For reasons and fixes: pennypost stuck --room ROOM"))
		}
		return nil
	})
}

// waitingAllRooms lists who waits for whom in all rooms, the longest wait first.
func (a *app) waitingAllRooms(ctx context.Context, q mail.WaitingQuery) error {
	all, err := a.fleet(ctx, mail.FleetQuery{Part: mail.FleetWaiting, Limit: q.Limit})
	return cli.Answer(a.App, all, err, func(all mail.Fleet) error {
		type wait struct {
			room mail.RoomName
			*mail.Waiting
		}
		var waits []wait
		for _, r := range all.Rooms {
			for i := range r.Waiting.Waiting {
				waits = append(waits, wait{r.Room, &r.Waiting.Waiting[i]})
			}
		}
		slices.SortStableFunc(waits, func(x, y wait) int { return cmp.Compare(x.Since, y.Since) })
		questions := make([]shownMessage, len(waits))
		for i, w := range waits {
			questions[i] = shownMessage{Room: w.room, ID: w.Question}
		}
		numbers, rows := a.number("", questions), make([][]string, len(waits))
		for i, w := range waits {
			rows[i] = []string{numbers[i], cli.OneLine(string(w.room)), waitWords(w.Waiting), a.Out.Ago(w.Since),
				string(w.Type), cli.OneLine(string(w.Question)), cli.OneLine(w.Subject)}
		}
		a.listOf(&all, "No agent waits for an answer in any room.", rows, []cli.Step{
			cli.At(5, cli.Beginning(leastPrefix(questions))), cli.At(4, cli.AtMost(8)), cli.At(3, cli.Brief),
			cli.At(5, nil), cli.At(4, nil), cli.At(1, cli.AtMost(16)), cli.At(2, cli.AtMost(28)), cli.At(3, nil),
			cli.At(1, cli.AtMost(10)), cli.At(2, cli.AtMost(16)),
		}, 3)
		for _, r := range all.Rooms {
			a.sayMore(r.Room, r.Waiting.Rest, "waiting")
		}
		return nil
	})
}

// letter is a message of one of several rooms.
type letter struct {
	room mail.RoomName
	*mail.Item
}

// newest takes the newest messages of several pages, at most most, and returns them newest last, with the positions
// before which the rooms continue. Within a room the order is the room's.
func newest(pages []mail.FleetPage, most int, places []mail.RoomPlace) (letters []letter, before []mail.RoomPlace,
	more bool) {
	left, seen := make([]int, len(pages)), make(map[mail.RoomName]mail.Seq)
	for _, p := range places {
		room, seq := p.Parts()
		seen[room] = seq
	}
	for i := range pages {
		left[i] = len(pages[i].Messages)
		more = more || pages[i].More
	}
	for len(letters) < most {
		next := -1
		for i, n := range left {
			if n > 0 && (next < 0 || pages[i].Messages[n-1].Sent > pages[next].Messages[left[next]-1].Sent) {
				next = i
			}
		}
		if next < 0 {
			break
		}
		left[next]--
		it := &pages[next].Messages[left[next]]
		letters = append(letters, letter{pages[next].Room, it})
		seen[pages[next].Room] = it.Seq
	}
	for _, n := range left {
		more = more || n > 0
	}
	slices.Reverse(letters)
	for _, room := range slices.Sorted(maps.Keys(seen)) {
		before = append(before, mail.PlaceIn(room, seen[room]))
	}
	return letters, before, more
}

// historyAllRooms lists messages of all rooms, newest last, before the positions that an earlier list has named.
func (a *app) historyAllRooms(ctx context.Context, q mail.HistoryQuery, before string) error {
	office, err := a.allRooms(oneRoom{"after", q.After != 0}, oneRoom{"thread", q.Thread != ""})
	if err != nil {
		return err
	}
	ask := mail.FleetMailQuery{HistoryQuery: q}
	for _, place := range strings.FieldsFunc(before, func(r rune) bool { return r == ',' }) {
		p, err := mail.ParseRoomPlace(place)
		if err != nil {
			return err
		}
		ask.Places = append(ask.Places, p)
	}
	all, err := office.FleetMail(ctx, ask)
	return cli.Answer(a.App, all, err, func(all mail.FleetMail) error {
		letters, before, more := newest(all.Rooms, cmp.Or(q.Limit, mail.DefaultLimit), ask.Places)
		list := make([]shownMessage, len(letters))
		for i, l := range letters {
			list[i] = shownMessage{l.room, l.ID, l.Seq}
		}
		if more {
			a.Out.Line("%s", a.Out.Dim("Earlier: "+a.Onward("before", wording.Join(before, ",",
				func(p mail.RoomPlace) string { return string(p) }))))
		}
		numbers, rows := a.number("", list), make([][]string, len(letters))
		for i, l := range letters {
			rows[i] = []string{numbers[i], string(l.ID), cli.OneLine(string(l.room)),
				cli.Sender(&l.Message, a.nameWidth()) + " → " + cli.Shorten(cli.Addressees(l.To), a.nameWidth()),
				a.Out.Ago(l.Sent), a.headline(l.Item)}
		}
		if len(rows) == 0 {
			a.Own("No message matches.")
		}
		a.Out.List(rows, []cli.Step{
			cli.At(1, cli.Beginning(leastPrefix(list))), cli.At(4, cli.Brief), cli.At(2, cli.AtMost(16)),
			cli.At(1, nil), cli.At(3, cli.AtMost(24)), cli.At(2, cli.AtMost(10)), cli.At(4, nil),
		}, 4)
		for _, r := range all.Rooms {
			if r.Partly != "" {
				a.sayTrouble(string(r.Room) + ": " + r.Partly)
			}
		}
		a.sayLeftOut(all.NotRead, all.Away, "To look into one: pennypost history --room ROOM")
		return nil
	})
}

package httpapi

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"pennypost/internal/mail"
	"pennypost/internal/wire"
)

// officeRoutes returns the routes of the post office as a whole.
func officeRoutes(o *Options) []route {
	return slices.Concat([]route{
		on(&wire.OfficeCall, status), handled(&wire.BackupRoute, wire.Gzip, "", backup),
		on(&wire.NotifyCall, notifyChannels), on(&wire.NotifyTestCall, notifyTest),
		on(&wire.MachinesCall, machines), on(&wire.RoomsCall, rooms),
		handled(&openAPIRoute, "", map[string]any{}, openAPI),
		on(&wire.DesksCall, func(c *call, q mail.DeskQuery) (mail.Desk, error) {
			return o.Office.Desk(c.r.Context(), q)
		}),
		on(&wire.FleetCall, func(c *call, q mail.FleetQuery) (mail.Fleet, error) {
			return o.Office.Fleet(c.r.Context(), q)
		}),
		on(&wire.FleetMailCall, func(c *call, q mail.FleetMailQuery) (mail.FleetMail, error) {
			return o.Office.FleetMail(c.r.Context(), q)
		}),
		on(&wire.DialogsCall, func(c *call, q mail.DialogQuery) (mail.Cards, error) {
			return o.Office.Dialogs(c.r.Context(), q)
		}),
		on(&wire.AnswerDialogCall, func(c *call, a mail.DialogAnswer) (none wire.None, err error) {
			return none, o.Office.AnswerDialog(c.r.Context(), a)
		}),
		handled(&wire.DeskEventsRoute, wire.Events, mail.DeskChange{}, deskEvents),
	},
		without(o.Notify == nil, mail.Errorf(mail.Unavailable,
			"this post office sends no notifications, so no chat can be paired"),
			on(&wire.NotifyPairCall, func(c *call, ask wire.NotifyPair) (wire.NotifyPairing, error) {
				return o.Notify.Pair(c.r.Context(), ask.Channel)
			}),
			on(&wire.NotifyUnpairCall, func(c *call, ask wire.NotifyPair) (wire.None, error) {
				return wire.None{}, o.Notify.Unpair(c.r.Context(), ask.Channel)
			})),
		without(o.Stop == nil, mail.Errorf(mail.Unavailable,
			"this post office cannot be stopped from here; end its process"),
			on(&wire.StopCall, func(*call, wire.None) (wire.None, error) {
				o.Stop()
				return wire.None{}, nil
			})),
		without(o.Away == nil, mail.Errorf(mail.Unavailable, "this post office has no dialogs"),
			on(&wire.AwayCall, func(c *call, _ wire.None) (wire.Aways, error) { return o.Away.Away(c.r.Context()) }),
			on(&wire.SetAwayCall, func(c *call, a wire.Away) (wire.Aways, error) {
				return o.Away.SetAway(c.r.Context(), a)
			})),
		without(o.Outbox == nil, mail.Errorf(mail.Unavailable, "this post office has no outbox"),
			on(&wire.OutboxCall, func(c *call, _ wire.None) (mail.Outbox, error) {
				return o.Outbox.List(func(k *mail.Kept) bool {
					mine := c.caller.Room == "" || c.caller.Room == k.Room
					return mine && (c.caller.Name == mail.User || c.caller.Name == k.From)
				}), nil
			}),
			on(&wire.WithdrawKeptCall, func(_ *call, key string) (wire.None, error) {
				return wire.None{}, o.Outbox.Withdraw(key)
			})),
		without(o.Machines == nil, mail.Errorf(mail.NotFound, "this post office has no rooms on NATS servers, so "+
			"it knows no other machines. To list invited machines: pennypost invite --list"),
			on(&wire.AdmitMachineCall, func(c *call, ask wire.AdmitMachine) (wire.None, error) {
				return wire.None{}, o.Machines.AdmitMachine(c.r.Context(), ask.Machine, ask.Key)
			}),
			on(&wire.RemoveMachineCall, func(c *call, name mail.Machine) (wire.None, error) {
				return wire.None{}, o.Machines.RemoveMachine(c.r.Context(), name)
			})),
		without(o.Try == nil, mail.Errorf(mail.Unavailable,
			"no mail is stored here; the post office is on another machine"),
			on(&wire.TryCall, func(c *call, _ wire.None) (wire.Trials, error) { return o.Try(c.r.Context()) })),
		without(o.Move == nil, mail.Errorf(mail.Unavailable, "this post office cannot move rooms"),
			on(&wire.MoveRoomCall, func(c *call, ask wire.MoveRoom) (wire.MovedRoom, error) {
				return o.Move(c.r.Context(), c.roomName, ask)
			})),
		without(o.Shards == nil, mail.Errorf(mail.Unavailable, "this post office has no rooms on NATS servers, so "+
			"it has no shards"),
			on(&wire.ShardsCall, func(c *call, _ wire.None) (wire.Shards, error) {
				return o.Shards.Shards(c.r.Context())
			}),
			on(&wire.MakeShardsCall, func(c *call, ask wire.MakeShards) (wire.Shards, error) {
				return o.Shards.MakeShards(c.r.Context(), ask)
			})),
		without(o.Restore == nil, mail.Errorf(mail.Unavailable, "this post office cannot restore rooms"),
			on(&wire.RestoreRoomCall, func(c *call, ask wire.RestoreRoom) (wire.RestoredRoom, error) {
				return o.Restore(c.r.Context(), c.roomName, ask)
			})),
		without(o.Remove == nil, mail.Errorf(mail.Unavailable, "this post office cannot remove rooms"),
			on(&wire.RemoveRoomCall, func(c *call, _ wire.None) (wire.RemovedRoom, error) {
				return o.Remove(c.r.Context(), c.roomName)
			})),
	)
}

func status(c *call, _ wire.None) (wire.Status, error) {
	s, err := c.api.opts.Status(c.r.Context())
	s.You, s.Room = c.caller.Name, c.caller.Room
	if c.needUser() != nil || c.caller.Pass != nil {
		s.Home, s.Listen, s.Failing, s.Fingerprint, s.Joined, s.Cluster, s.Busy = "", nil, nil, "", nil, nil, 0
		s.Outbox = nil
	}
	return s, err
}

// backup streams the whole post office. The file contains the operator's token, which other machines must not get.
func backup(c *call) (any, error) {
	if c.api.opts.Backup == nil || c.api.opts.Local == nil || !c.api.opts.Local(c.r) {
		return nil, mail.Errorf(mail.Denied, "a backup is available over the Unix socket only")
	}
	s := c.stream()
	raw, err := c.api.opts.Backup(c.r.Context(), s)
	if err != nil {
		return nil, err
	}
	if len(raw) > 0 {
		c.w.Header().Set(http.TrailerPrefix+wire.RawTrailer, someOf(raw))
	}
	return nil, s.flush()
}

// maxTrailer is in bytes. Go's client accepts no trailer that is longer than its buffer of 4 KB.
const maxTrailer = 3 << 10

// someOf joins as many names as fit into a trailer, and counts the rest.
func someOf(rooms []mail.RoomName) string {
	var b strings.Builder
	for i, room := range rooms {
		if b.Len()+len(room) > maxTrailer {
			fmt.Fprintf(&b, ", and %d more", len(rooms)-i)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(string(room))
	}
	return b.String()
}

// pageRoutes returns the routes of the pages and of the browsers that are logged in to them.
func pageRoutes(o *Options) []route {
	return without(o.Pages == nil, mail.Errorf(mail.Unavailable, "this post office has no pages, because it "+
		"listens on no TCP address; start it with: pennypost serve --listen 127.0.0.1:8765"),
		on(&wire.LoginCall, login),
		on(&wire.SessionsCall, func(*call, wire.None) (wire.Sessions, error) {
			return wire.Sessions{Sessions: o.Pages.Sessions()}, nil
		}),
		on(&wire.EndSessionsCall, func(*call, wire.None) (wire.None, error) {
			return wire.None{}, o.Pages.EndSession("")
		}),
		on(&wire.EndSessionCall, func(_ *call, id string) (wire.None, error) {
			return wire.None{}, o.Pages.EndSession(id)
		}))
}

func login(c *call, ask wire.Login) (link wire.Link, err error) {
	if p := c.caller.Pass; p != nil {
		if len(p.Rooms) > 0 {
			return link, mail.Errorf(mail.Denied,
				"the pages show every room, but the machine %s may use only some. No link was made", p.Machine)
		}
		ask.Phone, ask.Pass = true, p
	}
	link.URL, err = c.api.opts.Pages.Link(ask)
	return link, err
}

func rooms(c *call, _ wire.None) (mine wire.Rooms, err error) {
	all, err := c.api.opts.Office.Rooms(c.r.Context())
	mine.Rooms = make([]mail.RoomStatus, 0, len(all))
	for _, room := range all {
		if c.caller.Room == "" || c.caller.Room == room.Name {
			mine.Rooms = append(mine.Rooms, room)
		}
	}
	return mine, err
}

func machines(c *call, _ wire.None) (wire.Machines, error) {
	if c.api.opts.Machines == nil {
		return wire.Machines{Machines: []mail.MachineStatus{}}, nil
	}
	return wire.Machines{Machines: c.api.opts.Machines.List(), ServersHealth: c.api.opts.Machines.Health()}, nil
}

package gate

import (
	"context"
	"slices"

	"pennypost/internal/base/process"
	"pennypost/internal/mail"
	"pennypost/internal/room/check"
	"pennypost/internal/room/mailroom"
)

// Identity is who a caller is, and how that is known. Only this package makes one; the zero Identity is no caller.
type Identity struct {
	name    mail.Name
	means   mail.Means // for the user
	room    mail.RoomName
	pass    *mail.Pass // the pass of the machine that vouches for the caller; nil: none
	peer    *Peer      // its position among the processes counts too; nil: only the credential does
	gate    *Gate      // knows sessions; set if there is a peer
	opens   string     // the program about whose session this call is
	session string     // that session, as its client names it
	many    bool       // its client runs several sessions in one program
	joins   bool       // it is an MCP server
	away    mail.Name  // the agent whose session its programs have in another room, and none in this one
	unseen  bool       // the call is about a session of a program, and both are out of sight
	shell   shell      // the shell in which the caller says it runs; without a session: none
	toolUse string     // as in visit
	own     bool       // the post office itself: it speaks for anyone
}

type ownKey struct{}

// Own returns a context in which the post office itself acts for anyone: it maintains rooms, and answers for callers
// that one of its own doors has identified. A caller's claims must never lead here.
func Own(ctx context.Context) context.Context {
	return context.WithValue(ctx, ownKey{}, Identity{own: true})
}

// Admitted returns the identity of a caller that was authenticated and found on the roster, with its process checked.
func Admitted(c mail.Caller) Identity {
	return Identity{name: c.Name, means: c.Means, room: c.Room, pass: c.Pass}
}

// Identify returns the identity for a room of the caller of ctx, who claims name. The error Denied means that it has
// no right to that name.
func Identify(ctx context.Context, room mail.RoomName, name mail.Name) (Identity, error) {
	if id, ok := ctx.Value(ownKey{}).(Identity); ok {
		if id.own {
			id.name = name
		}
		return id, id.is(name, room)
	}
	v := visitOf(ctx)
	if v == nil {
		return Identity{}, mail.Errorf(mail.Denied, "the caller was not identified")
	}
	if v.err != nil {
		return Identity{}, v.err
	}
	c := &v.caller
	id := Identity{name: c.Name, means: c.Means, room: c.Room, pass: c.Pass}
	if err := id.is(name, room); err != nil {
		return Identity{}, err
	}
	if c.Room != "" || c.Pass != nil && c.Pass.Agent != "" {
		return id, nil // other claims of the request would change the identity
	}
	id.peer, id.gate = peerOfCall(ctx, v), v.gate
	id.shell, id.toolUse = v.shell, v.toolUse
	return id, nil
}

// peerOfCall returns the process of a call, if it helps to decide who calls.
func peerOfCall(ctx context.Context, v *visit) *Peer {
	if v.peer != nil {
		return v.peer // the other machine decides about this one
	}
	if p := PeerOf(ctx); p != nil && !p.itself() {
		return p
	}
	return nil
}

// is rejects a name or room other than the identity's own.
func (id Identity) is(name mail.Name, room mail.RoomName) error {
	switch {
	case id.name != name:
		return mail.Errorf(mail.Denied, "you are %s, and cannot act as %s", id.name, name)
	case id.room != "" && id.room != room:
		return mail.Errorf(mail.Denied, "your credential opens room %s only, not %s", id.room, room)
	}
	return nil
}

// OfHook returns the identity that the agent of a client's hook claims. The room checks it by the position of the
// hook's process.
func OfHook(ctx context.Context, name mail.Name) Identity {
	id := Identity{name: name}
	if v := visitOf(ctx); v != nil {
		id.peer, id.gate = peerOfCall(ctx, v), v.gate
	}
	return id
}

// Name returns the name under which the caller speaks.
func (id Identity) Name() mail.Name { return id.name }

// Means returns how it is known that the caller is the user; "" for others.
func (id Identity) Means() mail.Means { return id.means }

// Keeps reports whether mail of the caller may be kept and sent later. A caller with a credential may have lost it by
// then, and mail from another machine is kept there.
func (id Identity) Keeps() bool { return id.room == "" && id.pass == nil && id.means != mail.ByScript }

// Own reports whether the caller is the post office itself.
func (id Identity) Own() bool { return id.own }

// Peer returns the process whose position helps to decide who the caller is; nil: none.
func (id Identity) Peer() *Peer { return id.peer }

// Session returns the client's session in whose shell the caller says it runs, "" if it does not say, and whether its
// name was guessed from that.
func (id Identity) Session() (session string, guessed bool) {
	return id.shell.session, id.shell.guessed
}

// ToolUse returns the tool call for which the caller's client calls, or wire.ShellUse; "": it does not say.
func (id Identity) ToolUse() string { return id.toolUse }

// InSession returns id for a process that says it runs in the shell of a session.
func (id Identity) InSession(session string) Identity {
	id.shell = shell{session: session}
	return id
}

// ForToolUse returns id for a call that a client makes for a tool call.
func (id Identity) ForToolUse(use string) Identity {
	id.toolUse = use
	return id
}

// Opening returns id for a call about a session of a program, of a client that may run many in one, if the peer runs
// in that program. Otherwise the call is like any other, and a local program that the peer does not run in is ignored.
func (id Identity) Opening(program, session string, many bool) (of Identity, taken string) {
	if id.own || program == "" {
		return id, program
	}
	if id.peer == nil || len(id.peer.Programs()) == 0 {
		id.unseen = true
		return id, process.Seen(program)
	}
	if !slices.ContainsFunc(id.peer.Programs(), func(p string) bool { return process.Is(program, p) }) {
		// there the name only tells which hooks and server belong together
		if !id.peer.Apart() {
			return id, ""
		}
		return id, process.Seen(program)
	}
	id.opens, id.session, id.many, id.shell, id.toolUse = program, session, many, shell{}, ""
	return id, program
}

// Sees reports whether the post office itself sees the program given to Opening, and can tell when it ends.
func (id Identity) Sees() bool { return id.opens != "" && !id.peer.far }

// Opens reports whether the call is about a session of a program in which the caller runs.
func (id Identity) Opens() bool { return id.opens != "" }

// Outer returns the programs in whose sessions the caller may be. It omits the program whose session the call opens,
// if that program runs several, because they may be in several rooms.
func (id Identity) Outer() []string {
	programs := id.Programs()
	if at := slices.IndexFunc(programs, func(p string) bool { return process.Is(id.opens, p) }); id.many && at >= 0 {
		return programs[at+1:]
	}
	return programs
}

// Joining returns id for an MCP server.
func (id Identity) Joining() Identity {
	id.joins = id.opens != ""
	return id
}

// Elsewhere returns id for a caller whose programs have an agent's session in another room, and none in this one.
func (id Identity) Elsewhere(agent mail.Name) Identity {
	id.away = agent
	return id
}

// Calling returns id for another agent of the same process, which the post office has proven.
func (id Identity) Calling(name mail.Name) Identity {
	id.name, id.shell, id.toolUse = name, shell{}, ""
	return id
}

// Enter returns the room for one call, and the name under which the caller enters, if it has the right to that name.
func (id Identity) Enter(room *mailroom.Room) (mail.Service, mail.Name, error) {
	caller := id.name
	whence := check.Whence{Means: id.means, Pass: id.pass, Session: id.shell.session, Guessed: id.shell.guessed}
	if seat := room.Seat(caller, id.shell.session); id.shell.session != "" && seat != "" {
		caller, whence.Guessed = seat, false
	}
	// processes say nothing about a session that does not exist
	if id.peer != nil && (!whence.Guessed || id.shell.session == "") {
		whence.Programs, whence.Opens, whence.Thread = id.Programs(), id.opens, id.peer.thread
		if !id.unseen {
			whence.Doubtful = id.Doubtful
		}
		whence.Many, whence.Joins, whence.Elsewhere = id.many, id.joins, id.away
		if id.opens != "" {
			whence.Session = id.session
		}
	}
	svc, err := room.From(caller, whence)
	if err == nil && id.pass != nil {
		svc = mailroom.Within(svc, id.pass.Enters)
	}
	return svc, caller, err
}

// Doubtful reports whether the caller's process may belong to an agent's client.
func (id Identity) Doubtful() bool { return id.peer != nil && id.peer.doubtful(id.gate.opts.Session) }

// Programs returns the programs that may be sessions. The programs that the user uses are not.
func (id Identity) Programs() []string {
	if id.peer == nil {
		return nil
	}
	if id.name == mail.User && !id.peer.far {
		return id.peer.standing().below
	}
	return id.peer.Programs()
}

// Threads returns, for each of Programs, the session in whose shell it started the one before; nil: none.
func (id Identity) Threads() (all []string) {
	programs := id.Programs()
	for i, p := range programs {
		if t := id.peer.thread(p); t != "" {
			if all == nil {
				all = make([]string, len(programs))
			}
			all[i] = t
		}
	}
	return all
}

// As returns a room as seen by an agent that the post office has proven, or by itself.
func (id Identity) As(room *mailroom.Room, name mail.Name) mail.Service { return room.As(name) }

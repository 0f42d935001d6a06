package mailroom

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"pennypost/internal/mail"
	"pennypost/internal/room/check"
)

// programs are those of a machine; a test ends them.
type programs struct {
	mu    sync.Mutex
	ended map[string]bool
}

func (p *programs) end(program string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended == nil {
		p.ended = make(map[string]bool)
	}
	p.ended[program] = true
}

func (p *programs) isEnded(program string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ended[program]
}

// options make all programs run that have not ended.
func (p *programs) options() Options {
	return Options{
		Ended: p.isEnded, Alive: func(program string) bool { return program != "" && !p.isEnded(program) },
		Protocols: []mail.Protocol{{Name: "hex",
			NamesItself: func(client string, _ []string) bool { return client == "hex" }}},
	}
}

// server registers the connection of an MCP server that a client has started.
func (l *lab) server(as mail.Name, session, client, server string) (mail.Agent, error) {
	l.Helper()
	v, err := l.room.From(as, check.Whence{Programs: []string{server, client}, Opens: client, Session: session,
		Joins: true})
	if err != nil {
		return mail.Agent{}, err
	}
	return v.Register(l.Context(), mail.Presence{Session: session, Process: client, Join: true, Serves: true})
}

func (l *lab) wantServer(want, as mail.Name, session, client, server string) {
	l.Helper()
	if a, err := l.server(as, session, client, server); err != nil || a.Name != want {
		l.Errorf("%s of %s in %s is %q, %v; want %s", session, server, client, a.Name, err, want)
	}
}

func (l *lab) inbox(as mail.Name) (bodies []string) {
	l.Helper()
	page, err := l.room.As(as).Inbox(l.Context(), mail.InboxQuery{})
	l.must(err)
	for _, it := range page.Messages {
		bodies = append(bodies, it.Body)
	}
	return bodies
}

// TestKilledServerFreesName checks that an MCP server that was killed gives its name back although the client that
// started it still runs, that the next one to start has its mailbox, and that a live one keeps its name.
func TestKilledServerFreesName(t *testing.T) {
	var p programs
	inLab(t, p.options(), func(l *lab) {
		l.wantServer("ann", "ann", "c1", "client", "server1")
		l.wantServer("ann-2", "ann", "c2", "client2", "server2")
		read := l.send("bob", mail.Draft{To: mail.Recipients{"ann"}, Body: "read"})
		l.send("bob", mail.Draft{To: mail.Recipients{"ann"}, Body: "unread"})
		_, err := l.room.As("ann").Mark(l.Context(), mail.Marking{IDs: []mail.ID{read.ID}, Mark: mail.MarkRead})
		l.must(err)
		p.end("server1")
		l.wantServer("ann", "ann", "c3", "client", "server3")
		if got := l.inbox("ann"); !slices.Equal(got, []string{"unread"}) {
			l.Errorf("its unread mail is %q", got)
		}
		l.wantServer("ann-3", "ann", "c4", "client3", "server4")
		p.end("server3")
		l.register(mail.Presence{Name: "ann", Update: true, State: mail.Frozen})
		l.wantServer("ann-4", "ann", "c5", "client4", "server5") // ann is frozen
		p.end("server2")
		l.room.endDead(l.Context())
		if got := l.agent("ann-2").State; got != mail.Gone {
			l.Errorf("one whose server was killed is %s", got)
		}
		if got := l.agent("ann").State; got != mail.Frozen {
			l.Errorf("the frozen one is %s", got)
		}
		// the client of the killed one may start another agent
		l.wantServer("cay", "cay", "c6", "client2", "server6")
	})
}

// TestDeadNameIsTakenOnce checks that of two programs that start at the same time, after the previous one was killed,
// one gets the name and the other the next.
func TestDeadNameIsTakenOnce(t *testing.T) {
	var p programs
	room, _ := openRoom(t, "lab", p.options())
	register := func(n int) mail.Name {
		v, err := room.From("ann", check.Whence{Programs: []string{fmt.Sprint("server", n), fmt.Sprint("client", n)},
			Opens: fmt.Sprint("client", n), Joins: true})
		if err != nil {
			t.Error(err)
			return ""
		}
		a, err := v.Register(t.Context(), mail.Presence{Session: fmt.Sprint("c", n), Process: fmt.Sprint("client", n),
			Join: true, Serves: true})
		if err != nil {
			t.Error(err)
		}
		return a.Name
	}
	for round := range 50 {
		names := make([]mail.Name, 2)
		var both sync.WaitGroup
		for i := range names {
			both.Go(func() { names[i] = register(2*round + i) })
		}
		both.Wait()
		if slices.Sort(names); !slices.Equal(names, []mail.Name{"ann", "ann-2"}) {
			t.Fatalf("in round %d they are %q", round, names)
		}
		for i := range names {
			p.end(fmt.Sprint([]string{"server", "client"}[i], 2*round+i))
		}
	}
	room.endDead(t.Context())
}

// TestRoleMailOfTheDead checks that mail for a role does not wait for a holder whose program has ended: it goes to
// the next one when that looks, and later mail does not go to the dead one at all.
func TestRoleMailOfTheDead(t *testing.T) {
	var p programs
	inLab(t, p.options(), func(l *lab) {
		for _, n := range []mail.Name{"ann", "bob"} {
			_, err := l.room.As(n).Turn(l.Context(), mail.Turn{Moment: mail.SessionStart, Session: string(n),
				Process: "of " + string(n)})
			l.must(err)
			l.register(mail.Presence{Name: n, Update: true, Roles: []string{"builder"}})
		}
		for i := range 4 {
			l.send("cay", mail.Draft{To: mail.Recipients{"role:builder"}, Body: fmt.Sprint(i)})
		}
		if a, b := l.inbox("ann"), l.inbox("bob"); len(a) != 2 || len(b) != 2 {
			l.Errorf("they hold %q and %q", a, b)
		}
		p.end("of ann")
		if got := l.inbox("bob"); len(got) != 4 {
			l.Errorf("the living holder has %q", got)
		}
		if got := l.agent("ann").State; got != mail.Gone {
			l.Errorf("the dead one is %s", got)
		}
		_, err := l.room.As("ann").Turn(l.Context(), mail.Turn{Moment: mail.SessionStart, Session: "again",
			Process: "of ann again"})
		l.must(err)
		p.end("of ann again")
		for i := range 2 {
			sent := l.send("cay", mail.Draft{To: mail.Recipients{"role:builder"}, Body: fmt.Sprint(i)})
			if got := sent.Recipients[0].Agent; got != "bob" {
				l.Errorf("role mail went to %s", got)
			}
		}
		p.end("of bob")
		l.room.LookForDead()
		l.room.endDead(l.Context())
		if got := l.agent("bob").State; got != mail.Gone {
			l.Errorf("the other dead one is %s", got)
		}
	})
}

// TestBound checks that an agent that needs no session lives as long as the program that it is bound to, whatever it
// and others do meanwhile, and may be bound to another only then.
func TestBound(t *testing.T) {
	var p programs
	inLab(t, p.options(), func(l *lab) {
		bind := func(program string) {
			_, err := l.room.As("ann").Register(l.Context(), mail.Presence{Client: "hex", Process: program,
				Join: true})
			l.must(err)
		}
		want := func(what string, state mail.State) {
			l.Helper()
			l.room.endDead(l.Context())
			if got := l.agent("ann").State; got != state {
				l.Errorf("%s it is %s, want %s", what, got, state)
			}
		}
		bind("p1")
		l.send("ann", mail.Draft{To: mail.Recipients{"all"}})
		l.register(mail.Presence{Name: "ann", Update: true, Tags: []string{"project:x"}})
		last := l.room.Shown()
		for range 3 {
			l.inbox("ann")
			bind("p1")
		}
		if now := l.room.Shown(); now != last {
			l.Errorf("to look is journalled %d times", now-last)
		}
		bind("p2")
		p.end("p2")
		want("bound to one that lives,", mail.Idle)
		p.end("p1")
		l.register(mail.Presence{Name: "ann", Update: true, Tags: []string{"project:y"}})
		want("spoken of when its program has ended,", mail.Gone)
		bind("p3")
		want("bound again,", mail.Idle)
		l.wantServer("ann", "ann", "c1", "p3", "s3")
		p.end("s3")
		want("its server killed,", mail.Idle)
		if a := l.agent("ann"); a.Session != "" {
			l.Errorf("its session is %s", a.Session)
		}
		p.end("p3")
		want("when its program has ended too,", mail.Gone)
		l.send("ann", mail.Draft{To: mail.Recipients{"all"}})
		want("when it speaks again,", mail.Idle)
	})
}

// TestRetiredComesBack checks that an agent that was taken off the roster and comes back has everything that it had:
// its read and unread mail, its threads and its sent mail.
func TestRetiredComesBack(t *testing.T) {
	inLab(t, Options{}, func(l *lab) {
		l.register(mail.Presence{Name: "ann", Roles: []string{"builder"}})
		l.register(mail.Presence{Name: "bob"})
		asked := l.send("ann", mail.Draft{To: mail.Recipients{"bob"}, Type: string(mail.Question), Body: "which?"})
		read := l.send("bob", mail.Draft{To: mail.Recipients{"ann"}, Body: "read"})
		l.send("bob", mail.Draft{To: mail.Recipients{"ann"}, Body: "unread"})
		_, err := l.room.As("ann").Mark(l.Context(), mail.Marking{IDs: []mail.ID{read.ID}, Mark: mail.MarkRead})
		l.must(err)
		l.must(l.room.As(mail.User).Retire(l.Context(), "ann"))
		_, err = l.room.As(mail.User).Archive(l.Context())
		l.must(err)
		_, err = l.room.As("ann").Turn(l.Context(), mail.Turn{Moment: mail.SessionStart, Session: "s2"})
		l.must(err)
		if got := l.inbox("ann"); !slices.Equal(got, []string{"unread"}) {
			l.Errorf("its unread mail is %q", got)
		}
		l.send("bob", mail.Draft{ReplyTo: asked.ID, To: mail.Recipients{"ann"}, Body: "that"})
		if open, err := l.room.As("ann").Message(l.Context(), asked.ID); err != nil || open.Open {
			l.Errorf("its question, which was answered, is open: %v, %v", open.Open, err)
		}
		a := l.agent("ann")
		page, err := l.room.As("ann").Inbox(l.Context(), mail.InboxQuery{All: true})
		l.must(err)
		sent, err := l.room.As("ann").History(l.Context(), mail.HistoryQuery{From: "ann"})
		l.must(err)
		if len(page.Messages) != 3 || len(sent.Messages) != 1 || !slices.Equal(a.Roles, []string{"builder"}) {
			l.Errorf("it has %d letters, sent %d, roles %v", len(page.Messages), len(sent.Messages), a.Roles)
		}
	})
}

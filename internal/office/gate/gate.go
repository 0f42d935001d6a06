package gate

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"os"
	"strings"

	"golang.org/x/text/unicode/norm"

	"pennypost/internal/mail"
	"pennypost/internal/room/mailroom"
	"pennypost/internal/wire"
)

// Options are the gate's dependencies in the post office. All must be set, except Terminals and Scripts.
type Options struct {
	Operator  string   // token of the operator
	Terminals []string // additional programs that a person uses
	Scripts   *Scripts // nil: this machine uses the post office of another
	// Agent returns the caller that a room's token belongs to.
	Agent func(ctx context.Context, token string) (mail.Caller, error)
	// Session returns the agent of a session that one of programs runs, "" if there is none.
	Session func(programs []string) mail.Name
	// Machine admits another machine by its token, from an address. The context then ends with the token.
	Machine func(ctx context.Context, token, remoteAddr string) (*mail.Pass, error)
}

// Gate decides who sent a request. It is safe for concurrent use.
type Gate struct {
	opts     Options
	operator [sha256.Size]byte // hash of the operator's token
	persons  persons
}

// New returns a gate.
func New(opts Options) *Gate {
	return &Gate{opts: opts, operator: sha256.Sum256([]byte(opts.Operator))}
}

// Key returns a secret derived from the operator's token, which changes with it.
func (g *Gate) Key() []byte { return g.operator[:] }

// Authenticate returns who sent r. It rejects other machines: they may only use the API.
func (g *Gate) Authenticate(r *http.Request) (mail.Caller, error) {
	caller, err := g.AuthenticateAll(r)
	if caller.Pass != nil {
		return mail.Caller{}, mail.Errorf(mail.Denied, "the token of the machine %s is valid for the API only; its "+
			"programs use the relay on that machine", caller.Pass.Machine)
	}
	if err == nil && caller.Means == mail.ByScript {
		return mail.Caller{}, mail.Errorf(mail.Denied, "a credential for scripts is valid for the API only, to "+
			"send, mark and read mail")
	}
	return caller, err
}

// AuthenticateAll returns who sent r. A bearer token decides on any connection; without one, the Unix socket trusts
// its peer, which is a process of this user, and TCP trusts no caller. A caller that is the user by this must not be
// an agent's process, and one without a token must be known to be the person, as far as the system tells.
func (g *Gate) AuthenticateAll(r *http.Request) (mail.Caller, error) {
	v := visitOf(r.Context())
	if v == nil { // a handler outside Admit
		return mail.Caller{}, mail.Errorf(mail.Denied, "the caller was not identified")
	}
	v.once.Do(func() { v.caller, v.err = g.identify(r) })
	return v.caller, v.err
}

func (g *Gate) identify(r *http.Request) (mail.Caller, error) {
	caller, err := g.credential(r)
	if err == nil && caller.Means == mail.ByGuest {
		return mail.Caller{}, mail.Errorf(mail.Denied, "a guest's token is valid for A2A only, at "+
			"/a2a/%s", caller.Room)
	}
	if err != nil || caller.Name != mail.User || caller.Pass != nil {
		return caller, err
	}
	if looksAround(r) {
		// A person's next request on the connection may come when their terminal is gone.
		if p := PeerOf(r.Context()); p != nil && r.Method == http.MethodGet {
			go g.persons.standing(p)
		}
		return caller, nil
	}
	return caller, g.checkUser(r.Context(), &caller)
}

// credential returns who r says it is from, if it has the right to say so.
func (g *Gate) credential(r *http.Request) (mail.Caller, error) {
	name, err := wire.Agent(r.Header)
	if err != nil {
		return mail.Caller{}, err
	}
	// Rooms know names in this form; a shell on macOS may use another.
	name = mail.Name(norm.NFC.String(string(name)))
	if a, ok := r.Context().Value(passKey{}).(*admission); ok {
		return guest(a, name, r.Header.Get(wire.AgentHeader) != "")
	}
	switch {
	case r.Header.Get("Authorization") != "":
		caller, err := g.bearer(r)
		if err == nil && r.Header.Get(wire.AgentHeader) != "" && name != caller.Name {
			return mail.Caller{}, mail.Errorf(mail.Denied, "the token belongs to %s, and cannot act as %s. Use "+
				"that agent's own token, from: pennypost agents token NAME", caller.Name, name)
		}
		return caller, err
	case PeerOf(r.Context()) == nil:
		return mail.Caller{}, mail.Errorf(mail.Unknown, "no token: send the header Authorization: Bearer with the "+
			"operator's token (the file token in the data directory), or with an agent's token, from: pennypost "+
			"agents token NAME")
	}
	return mail.Caller{Name: name}, nil
}

// looksAround reports whether r speaks for no agent: it asks whether the post office runs, or which rooms exist, or is
// a hook of an agent's client, whose agent the post office finds out by itself. An agent that does not know its name
// yet may send it too.
func looksAround(r *http.Request) bool {
	if r.Method == http.MethodPost && (strings.HasPrefix(r.URL.Path, wire.Base+"/hooks/") ||
		strings.HasPrefix(r.URL.Path, wire.Base+"/taken/") || r.URL.Path == wire.Base+"/place") {
		return true
	}
	return r.Method == http.MethodGet && (r.URL.Path == wire.Base+"/status" || r.URL.Path == wire.Base+"/rooms")
}

// bearer returns the caller that r's token belongs to.
func (g *Gate) bearer(r *http.Request) (mail.Caller, error) {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	token = strings.TrimSpace(token)
	if !strings.EqualFold(scheme, "Bearer") || token == "" {
		return mail.Caller{}, mail.Errorf(mail.Unknown, "the header Authorization is not of the form: Bearer TOKEN")
	}
	sum := sha256.Sum256([]byte(token))
	switch {
	case subtle.ConstantTimeCompare(sum[:], g.operator[:]) == 1:
		return mail.Caller{Name: mail.User, Means: mail.ByOperator}, nil
	case strings.HasPrefix(token, wire.ScriptPrefix) && g.opts.Scripts == nil:
		return mail.Caller{}, mail.Errorf(mail.Denied, "a credential for scripts is valid only at the post office, "+
			"which is on another machine. Nothing was done. Add --remote with its address, which pennypost status "+
			"shows")
	case strings.HasPrefix(token, wire.ScriptPrefix):
		return g.opts.Scripts.caller(r.Context(), sum)
	}
	caller, err := g.opts.Agent(r.Context(), token)
	if mailroom.IsGuests(token) {
		caller.Means = mail.ByGuest
	}
	return caller, err
}

// Guest returns the guest who sent r, and the hash of its token. It rejects all other callers: the user and agents.
func (g *Gate) Guest(r *http.Request) (c mail.Caller, sum string, err error) {
	if r.Header.Get("Authorization") == "" {
		return c, "", mail.Errorf(mail.Unknown, "no token: send the header Authorization: Bearer with a guest's "+
			"token, from: pennypost agents token NAME --guest")
	}
	if c, err = g.bearer(r); err != nil {
		return mail.Caller{}, "", err
	}
	if c.Means != mail.ByGuest || r.Header.Get(wire.AgentHeader) != "" {
		return mail.Caller{}, "", mail.Errorf(mail.Denied, "only guests may call A2A, each with its own token and "+
			"name, from: pennypost agents token NAME --guest")
	}
	_, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	_, sum, _ = mailroom.ParseToken(strings.TrimSpace(token))
	return c, sum, nil
}

// checkUser rejects a caller that claims to be the user and is an agent's process, or that has no credential and is
// not known to be the person. It fills in the means by which the person is known.
func (g *Gate) checkUser(ctx context.Context, caller *mail.Caller) error {
	p, shown := PeerOf(ctx), caller.Means != ""
	if p == nil {
		p = tcpPeerOf(ctx)
	}
	if p == nil || p.itself() {
		if !shown {
			caller.Means = mail.ByOperator
		}
		return nil
	}
	s := g.persons.standing(p)
	if s.agent == "" {
		if name := s.session(g.opts.Session); name != "" {
			return inSession(name)
		}
	}
	switch {
	case s.agent != "":
		return mail.Errorf(mail.Denied, "this runs inside an agent's process (%s), and an agent cannot act as the "+
			"user: nothing was done", s.agent)
	case shown:
	case s.untold:
		caller.Means = mail.BySystem
	case s.away != "":
		return mail.Errorf(mail.Denied, "this process may not be yours: %s. An agent may have left it running, so "+
			"nothing was done. For a script of yours, make a credential in your terminal: pennypost credentials "+
			"add NAME", s.away)
	default:
		caller.Means = mail.ByTerminal
	}
	return nil
}

// Browser returns the context of a logged-in browser, unless it runs in an agent's session, or below an agent's
// client. A client's variable is no reason to refuse: the person's own browser may once have been started from there.
func (g *Gate) Browser(ctx context.Context) (context.Context, error) {
	if p := tcpPeerOf(ctx); p != nil {
		s := p.standing()
		if name := s.session(g.opts.Session); name != "" {
			return nil, inSession(name)
		}
		if s.client != nil && !s.client.Above(os.Getpid()) { // allow a client above the post office, as in tests
			return nil, mail.Errorf(mail.Denied, "this browser runs below %s, an agent's client, and an agent cannot "+
				"act as the user: nothing was done. Start it from elsewhere", s.client.Names()[0])
		}
	}
	return context.WithValue(ctx, ownKey{}, Identity{name: mail.User, means: mail.ByPages}), nil
}

func inSession(name mail.Name) error {
	return mail.Errorf(mail.Denied, "this runs in the session of %s, and an agent cannot act as the user: nothing "+
		"was done. Use --as '%s'", name, name)
}

// UserOnly lets only the user through, and no script.
func (g *Gate) UserOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		caller, err := g.Authenticate(r)
		switch {
		case mail.CodeOf(err) == mail.Unknown:
			w.Header().Set("WWW-Authenticate", `Bearer realm="pennypost"`)
			http.Error(w, err.Error(), http.StatusUnauthorized)
		case err != nil || caller.Name != mail.User || caller.Room != "":
			http.Error(w, "only the user may see this", http.StatusForbidden)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

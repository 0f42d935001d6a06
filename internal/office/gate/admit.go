package gate

import (
	"context"
	"net/http"
	"strings"
	"sync"

	"pennypost/internal/mail"
	"pennypost/internal/wire"
)

// visit is one request on its way through the gate.
type visit struct {
	shell   shell
	toolUse string // for which the caller's client calls, or wire.ShellUse; "": it does not say
	peer    *Peer  // the process on another machine, according to its relay; nil: the request is not from a relay
	gate    *Gate

	once   sync.Once
	caller mail.Caller // set by once
	err    error       // set by once
}

// shell is the shell of a client's session.
type shell struct {
	session string
	guessed bool // the caller is an agent only if the session is one
}

type visitKey struct{}

func visitOf(ctx context.Context) *visit {
	v, _ := ctx.Value(visitKey{}).(*visit)
	return v
}

// passKey is the context key of the *admission of a request with a machine's token.
type passKey struct{}

// admission is the result of checking a machine's token.
type admission struct {
	pass *mail.Pass
	err  error
}

// PassOf returns the pass of the machine from which the call of ctx came; nil: it did not come from one.
func PassOf(ctx context.Context) *mail.Pass {
	a, ok := ctx.Value(passKey{}).(*admission)
	if !ok {
		return nil
	}
	return a.pass
}

// Admit reads a request's machine token and its headers about the caller. It must run after life.Handler, so that the
// work of a request ends with its credential.
func (g *Gate) Admit(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		if token = strings.TrimSpace(token); strings.EqualFold(scheme, "Bearer") &&
			strings.HasPrefix(token, wire.MachinePrefix) {
			pass, err := g.opts.Machine(r.Context(), token, r.RemoteAddr)
			r = r.WithContext(context.WithValue(r.Context(), passKey{}, &admission{pass, err}))
		}
		v := &visit{shell: shell{r.Header.Get(wire.SessionHeader), r.Header.Get(wire.SeatHeader) != ""},
			toolUse: r.Header.Get(wire.ToolUseHeader), peer: vouched(r), gate: g}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), visitKey{}, v)))
	})
}

// guest returns the caller for a program of another machine, which that machine vouches for. named says that the
// request names the agent.
func guest(a *admission, name mail.Name, named bool) (mail.Caller, error) {
	switch {
	case a.err != nil:
		return mail.Caller{}, a.err
	case a.pass.Agent == "":
		return mail.Caller{Name: name, Means: meansOfGuest(name), Pass: a.pass}, nil
	case named && name != a.pass.Agent:
		return mail.Caller{}, mail.Errorf(mail.Denied, "the machine %s was invited for the agent %s only, and "+
			"cannot act as %s", a.pass.Machine, a.pass.Agent, name)
	}
	return mail.Caller{Name: a.pass.Agent, Pass: a.pass}, nil
}

func meansOfGuest(name mail.Name) mail.Means {
	if name == mail.User {
		return mail.ByRelay
	}
	return ""
}

// vouched returns the process on another machine whose relay sent r; nil if r is not from a relay, or from one that
// may not say who calls.
func vouched(r *http.Request) *Peer {
	pass, programs := PassOf(r.Context()), r.Header.Get(wire.ProgramsHeader)
	inside := r.Header.Get(wire.InsideHeader) != ""
	switch {
	case pass == nil || pass.Agent != "" || programs == "" && !inside:
		return nil
	case programs == "":
		return FarPeer(nil, nil, inside) // out of the relay's sight
	}
	return FarPeer(strings.Split(programs, ","), strings.Split(r.Header.Get(wire.ThreadsHeader), ","), inside)
}

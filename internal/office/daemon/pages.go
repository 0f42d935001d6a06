package daemon

import (
	"crypto/rand"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"pennypost/internal/mail"
	"pennypost/internal/office/httpapi"
	"pennypost/internal/office/web"
	"pennypost/internal/wire"
)

// pages are the pages as the API and the commands see them.
type pages struct {
	site *web.Site
	base string // of the TCP listener
	host string // the pages' own name
	// phone is where other machines reach the pages; "": there is none
	phone string
	// machines is where machines that were let in reach the pages; "": there is none
	machines string
	config   string // the file in which to let them in
}

var _ httpapi.Pages = (*pages)(nil)

// newHost returns a name under which browsers know the pages. Browsers give a cookie to whatever answers under the
// name that set it, on every port; no other server on this machine can be visited under a name that only we know.
func newHost() string { return "pp-" + strings.ToLower(rand.Text()) + ".localhost" }

// isHost reports whether text is a name of the form that newHost makes. Browsers resolve every name below localhost
// to this machine, without asking a network.
func isHost(text string) bool {
	label, below := strings.CutSuffix(text, ".localhost")
	random, ours := strings.CutPrefix(label, "pp-")
	return below && ours && len(random) == 26 && strings.Trim(random, "abcdefghijklmnopqrstuvwxyz234567") == ""
}

// Link implements httpapi.Pages. The link does not contain the pages' own name, because others on this machine can
// read the arguments of the command that opens it.
func (p *pages) Link(ask wire.Login) (string, error) {
	if ask.Phone {
		return p.phoneLink(ask)
	}
	base, err := p.linkBase(ask.Plain)
	if err != nil {
		return "", err
	}
	return base + p.site.Link(ask.Room, ask.Plain), nil
}

// phoneLink is Link for a browser on another machine.
func (p *pages) phoneLink(ask wire.Login) (string, error) {
	switch {
	case ask.Pass != nil:
		return p.machines + p.site.TLSLink(ask.Room, ask.Pass), nil
	case p.phone == "":
		return "", mail.Errorf(mail.Conflict,
			"this post office does not listen for other devices. To use a phone, add these two lines to %s, run "+
				"pennypost stop, and try again:\n\n[tls]\n"+
				"listen = \"0.0.0.0:8766\"", p.config)
	case strings.HasPrefix(p.phone, "https:"):
		return p.phone + p.site.TLSLink(ask.Room, nil), nil
	}
	return p.phone + p.site.Link(ask.Room, true), nil
}

// LetterLink is Link to a letter, or to the inbox if id is "".
func (p *pages) LetterLink(room mail.RoomName, id mail.ID) (string, error) {
	base, err := p.linkBase(false)
	if err != nil {
		return "", err
	}
	return base + p.site.LetterLink(room, id), nil
}

// linkBase is the address with which links begin.
func (p *pages) linkBase(plain bool) (string, error) {
	if p.base == "" {
		return "", mail.Errorf(mail.Conflict, "this post office has no pages, because it listens on no TCP "+
			"address; start it with: pennypost serve --listen 127.0.0.1:8765")
	}
	u, err := url.Parse(p.base)
	if err != nil {
		return "", err
	}
	ip, err := netip.ParseAddr(u.Hostname())
	if err != nil {
		return "", err
	}
	if !plain && !found(ip) {
		return "", mail.Errorf(mail.Conflict,
			"the post office listens only at %s, but a browser looks for the pages' host name at 127.0.0.1. Listen "+
				"there, or use the weaker login: pennypost open --plain", u.Host)
	}
	if ip.IsUnspecified() {
		u.Host = net.JoinHostPort("localhost", u.Port())
	}
	return u.String(), nil
}

// found reports whether a browser that looks for a name below localhost finds a listener at ip.
func found(ip netip.Addr) bool {
	return ip.IsUnspecified() || ip == netip.IPv6Loopback() || ip == netip.AddrFrom4([4]byte{127, 0, 0, 1})
}

// Sessions implements httpapi.Pages.
func (p *pages) Sessions() []wire.Session {
	list := p.site.Sessions()
	out := make([]wire.Session, len(list))
	for i, one := range list {
		out[i] = wire.Session(one)
	}
	return out
}

// EndSession implements httpapi.Pages.
func (p *pages) EndSession(id string) error { return p.site.EndSession(id) }

// apart gives requests under the pages' own name to the pages, and to nothing else: no API there can be abused
// through a page. Of the other requests, calls gets those of the API, and rest all others.
func (p *pages) apart(calls, rest http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case p.site.Named(r):
			p.site.ServeHTTP(w, r)
		case strings.HasPrefix(r.URL.Path, wire.Base+"/"):
			calls.ServeHTTP(w, r)
		default:
			rest.ServeHTTP(w, r)
		}
	})
}

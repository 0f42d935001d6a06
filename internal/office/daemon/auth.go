package daemon

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"strings"

	"golang.org/x/text/unicode/norm"

	"pennypost/internal/base/durable"
	"pennypost/internal/config"
	"pennypost/internal/mail"
	"pennypost/internal/room/mailroom"
	"pennypost/internal/wire"
)

// operatorPrefix begins the operator's token, so that scanners for leaked secrets can know it. It is not the prefix of
// an agent's.
const operatorPrefix = "pp-operator."

// loadToken returns the operator's token, which is made at the first start.
func loadToken(home config.Home) (string, error) {
	text, err := os.ReadFile(home.Token())
	if errors.Is(err, fs.ErrNotExist) {
		token := operatorPrefix + rand.Text()
		return token, durable.WriteFile(home.Token(), []byte(token+"\n"), 0o600)
	}
	if err != nil {
		return "", fmt.Errorf("read the operator's token: %w", err)
	}
	token := strings.TrimSpace(string(text))
	if len(token) < len(operatorPrefix)+16 {
		return "", mail.Errorf(mail.Invalid, "%s holds no token. Remove the file; a new one is made at the next start",
			home.Token())
	}
	if err := os.Chmod(home.Token(), 0o600); err != nil {
		return "", fmt.Errorf("close the operator's token to others: %w", err)
	}
	return token, nil
}

// gate says who sent a request.
type gate struct {
	operator [sha256.Size]byte // hash of the operator's token
	tree     bool              // look at the ancestors of who says to be the user
	office   *office
}

func newGate(operatorToken string, cfg *config.Config, o *office) *gate {
	return &gate{operator: sha256.Sum256([]byte(operatorToken)), tree: cfg.AgentCheck != config.CheckProcess,
		office: o}
}

// peerKey is under what the context of a connection over the Unix socket holds its *peer.
type peerKey struct{}

// farPeerKey is under what the context of a request of another machine's relay holds the *peer there.
type farPeerKey struct{}

// toolUseKey is under what the context of a request holds the use of a tool that its ToolUseHeader names.
type toolUseKey struct{}

// sessionKey is under what the context of a request holds the shell that its headers name.
type sessionKey struct{}

// shell is that of a client's session.
type shell struct {
	session string
	guessed bool // the caller is an agent only if the session is one
}

// authenticate returns who sent r, if that is no other machine: those use the API alone.
func (g *gate) authenticate(r *http.Request) (mail.Caller, error) {
	caller, err := g.authenticateAll(r)
	if caller.Pass != nil {
		return mail.Caller{}, mail.Errorf(mail.Denied, "the token of the machine %s opens the API only: its programs "+
			"use what they would use of a post office there", caller.Pass.Machine)
	}
	return caller, err
}

// authenticateAll returns who sent r. A bearer token decides wherever it comes from; without one, the Unix socket
// believes its peer, which is a process of this user, and TCP believes nobody. Whoever is the user by this must not be
// an agent's process, as far as the Unix socket can tell.
func (g *gate) authenticateAll(r *http.Request) (mail.Caller, error) {
	p, _ := r.Context().Value(peerKey{}).(*peer)
	caller, err := g.credential(r, p)
	if err != nil || caller.Name != mail.User || p == nil {
		return caller, err
	}
	if v := p.agentVariable(g.tree); v != "" && !looksAround(r) {
		return mail.Caller{}, config.RefuseUser(v)
	}
	return caller, nil
}

// credential returns who r says it is from, and has the right to say.
func (g *gate) credential(r *http.Request, p *peer) (mail.Caller, error) {
	name, err := wire.Agent(r.Header)
	if err != nil {
		return mail.Caller{}, err
	}
	// Rooms know names in this form, and a shell on macOS may spell them in another.
	name = mail.Name(norm.NFC.String(string(name)))
	if a, ok := r.Context().Value(passKey{}).(*admission); ok {
		return guest(a, name, r.Header.Get(wire.AgentHeader) != "")
	}
	switch {
	case r.Header.Get("Authorization") != "":
		caller, err := g.bearer(r)
		if err == nil && r.Header.Get(wire.AgentHeader) != "" && name != caller.Name {
			return mail.Caller{}, mail.Errorf(mail.Denied, "the token is %s's, and cannot speak for %s. Use that "+
				"agent's own token, made by: pennypost agents token NAME", caller.Name, name)
		}
		return caller, err
	case p == nil:
		return mail.Caller{}, mail.Errorf(mail.Unknown, "say who you are: send the header Authorization: Bearer "+
			"with the operator's token, which is in the data directory's file token, or an agent's, which is made "+
			"by: pennypost agents token NAME")
	}
	return mail.Caller{Name: name}, nil
}

// looksAround reports whether r speaks for nobody: whether the post office runs, which rooms there are, and the hooks
// of agents' clients, whose agent the post office finds out by itself. An agent that does not know its name yet may
// ask too.
func looksAround(r *http.Request) bool {
	if r.Method == http.MethodPost && (strings.HasPrefix(r.URL.Path, wire.Base+"/hooks/") ||
		strings.HasPrefix(r.URL.Path, wire.Base+"/taken/") || r.URL.Path == wire.Base+"/place") {
		return true
	}
	return r.Method == http.MethodGet && (r.URL.Path == wire.Base+"/status" || r.URL.Path == wire.Base+"/rooms")
}

// bearer returns whose token r carries.
func (g *gate) bearer(r *http.Request) (mail.Caller, error) {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	token = strings.TrimSpace(token)
	if !strings.EqualFold(scheme, "Bearer") || token == "" {
		return mail.Caller{}, mail.Errorf(mail.Unknown, "the header Authorization is not of the form: Bearer TOKEN")
	}
	sum := sha256.Sum256([]byte(token))
	if subtle.ConstantTimeCompare(sum[:], g.operator[:]) == 1 {
		return mail.Caller{Name: mail.User}, nil
	}
	return g.agent(r.Context(), token)
}

// agent returns whose token of a room this is. The token names its room, which is opened only if it exists: a made-up
// token makes nothing. That a room exists can be told from how long the refusal takes, and is no secret from this
// machine.
func (g *gate) agent(ctx context.Context, token string) (mail.Caller, error) {
	name, sum, ok := mailroom.ParseToken(token)
	if ok && g.office.far != nil {
		return g.office.far.agent(ctx, token)
	}
	if !ok || !g.office.exists(name) {
		return mail.Caller{}, unknownToken()
	}
	e, err := g.office.borrow(ctx, name)
	if err != nil {
		return mail.Caller{}, err
	}
	defer g.office.giveBack(e, name)
	agent, ok := e.room.CheckToken(sum)
	if !ok {
		return mail.Caller{}, unknownToken()
	}
	return mail.Caller{Name: agent, Room: name}, nil
}

func unknownToken() error {
	return mail.Errorf(mail.Unknown, "the token opens nothing here: it is wrong, or a newer one was made, or its "+
		"agent was retired. A new one is made by: pennypost agents token NAME")
}

// userOnly lets only the user through.
func (g *gate) userOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		caller, err := g.authenticate(r)
		switch {
		case mail.CodeOf(err) == mail.Unknown:
			w.Header().Set("WWW-Authenticate", `Bearer realm="pennypost"`)
			http.Error(w, err.Error(), http.StatusUnauthorized)
		case err != nil || caller.Name != mail.User:
			http.Error(w, "only the user may see this", http.StatusForbidden)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

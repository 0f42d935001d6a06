package mailroom

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strings"

	"golang.org/x/text/unicode/norm"

	"pennypost/internal/mail"
	"pennypost/internal/room/check"
	"pennypost/internal/room/fold"
)

// Register implements mail.Registrar.
func (v *view) Register(ctx context.Context, p mail.Presence) (mail.Agent, error) {
	c, err := v.Change(p)
	if err != nil {
		return mail.Agent{}, err
	}
	defer v.claiming(c)()
	asked := *c
	if err := v.attempt(ctx, func(v *check.View) ([]mail.Event, error) {
		c = new(asked)
		return v.Register(p, c)
	}); err != nil {
		return mail.Agent{}, err
	}
	return v.registered(c)
}

// registered returns the roster's line of the agent that was registered, which for a session may bear another name.
func (v *view) registered(c *mail.AgentChange) (mail.Agent, error) {
	var a mail.Agent
	var err error
	v.read(func(s *fold.State, now mail.Time) {
		m := s.Agent(c.Name)
		if c.Session != "" && (m == nil || m.Session != c.Session) {
			for o := range s.Agents() {
				if o.Session == c.Session {
					m = o
				}
			}
			if o := s.SameProcess(c, now); o != nil && c.Join {
				m = o
			}
		}
		if m == nil {
			if m, err = v.on(s, now).Mailbox(c.Name); err != nil {
				return
			}
		}
		a = v.show(s, m, now)
	})
	return a, err
}

// Rename implements mail.Registrar.
func (v *view) Rename(ctx context.Context, from, to mail.Name) (mail.Agent, error) {
	to, err := mail.ParseName(norm.NFC.String(string(to)))
	if err != nil {
		return mail.Agent{}, err
	}
	defer v.newcomer(to)()
	var renamed *fold.Member
	if err := v.attempt(ctx, func(v *check.View) (events []mail.Event, err error) {
		renamed, events, err = v.Rename(from, to)
		return events, err
	}); err != nil {
		return mail.Agent{}, err
	}
	var a mail.Agent
	v.read(func(s *fold.State, now mail.Time) {
		if a = v.show(s, renamed, now); a.Name != to {
			err = mail.Errorf(mail.Conflict, "%s was renamed to %q at the same time; use that name", from,
				a.Name)
		}
	})
	return a, err
}

// Merge implements mail.Registrar.
func (v *view) Merge(ctx context.Context, from, into mail.Name) (mail.Agent, error) {
	var one *fold.Member
	if err := v.attempt(ctx, func(v *check.View) (events []mail.Event, err error) {
		one, events, err = v.Merge(from, into)
		return events, err
	}); err != nil {
		return mail.Agent{}, err
	}
	var a mail.Agent
	var err error
	v.read(func(s *fold.State, now mail.Time) {
		if a = v.show(s, one, now); s.Members[mail.Name(norm.NFC.String(string(from)))] != one {
			err = mail.Errorf(mail.Conflict, "%s began a session at the same time: nothing was changed", from)
		}
	})
	return a, err
}

// Retire implements mail.Registrar.
func (v *view) Retire(ctx context.Context, n mail.Name) error {
	_, _, err := v.decide(ctx, func(v *check.View) ([]mail.Event, error) { return v.Retire(n) })
	return err
}

// Token implements mail.Registrar.
func (v *view) Token(ctx context.Context, n mail.Name) (string, error) {
	return v.makeToken(ctx, n, tokenPrefix)
}

// GuestToken implements mail.Registrar.
func (v *view) GuestToken(ctx context.Context, n mail.Name) (string, error) {
	return v.makeToken(ctx, n, guestPrefix)
}

func (v *view) makeToken(ctx context.Context, n mail.Name, prefix string) (string, error) {
	if err := v.NeedUser("create tokens"); err != nil {
		return "", err
	}
	token := prefix + base64.RawURLEncoding.EncodeToString([]byte(v.name)) + "." + rand.Text()
	err := v.attempt(ctx, func(v *check.View) ([]mail.Event, error) { return v.Token(n, tokenSum(token)) })
	if err != nil {
		return "", err
	}
	return token, nil
}

// These begin every token, so that scanners for leaked secrets can recognise one. The room keeps the hash of the
// whole token, so a guest's cannot be turned into an agent's.
const (
	tokenPrefix = "pp."
	guestPrefix = "pp-guest."
)

// IsGuests reports whether a token, if it is good, is a guest's.
func IsGuests(token string) bool { return strings.HasPrefix(token, guestPrefix) }

// ParseToken returns the room that a bearer token names, and the hash by which that room knows it. ok is false for a
// text that cannot be a token of any room.
func ParseToken(token string) (room mail.RoomName, sum string, ok bool) {
	rest, ok := strings.CutPrefix(token, tokenPrefix)
	if !ok {
		rest, ok = strings.CutPrefix(token, guestPrefix)
	}
	encoded, secret, cut := strings.Cut(rest, ".")
	name, err := base64.RawURLEncoding.DecodeString(encoded)
	if !ok || !cut || secret == "" || err != nil {
		return "", "", false
	}
	room, err = mail.ParseRoom(string(name))
	return room, tokenSum(token), err == nil
}

func tokenSum(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// claiming is newcomer for a change that may be of a session. Nor can two sessions become the orchestrator at the
// same time.
func (v *view) claiming(c *mail.AgentChange) (done func()) {
	if c.Name != mail.Orchestrator || c.Session == "" {
		return v.newcomer(c.Name)
	}
	v.naming.Lock()
	return v.naming.Unlock
}

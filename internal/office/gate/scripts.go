package gate

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"pennypost/internal/base/kept"
	"pennypost/internal/base/life"
	"pennypost/internal/mail"
	"pennypost/internal/wire"
)

// Limits of credentials for scripts.
const (
	maxScripts    = 100
	maxScriptName = 64 // bytes
	// scriptSeen is by how much the time of last use in the file may lag.
	scriptSeen = 5 * time.Minute
)

// script is a credential as stored in the file. Its fields are guarded by Scripts.mu.
type script struct {
	wire.Credential
	Sum string `json:"sum"` // SHA-256 of the token, in hex

	life *life.Life // of the connections that it opens
}

// begin sets the fields that are not in the file.
func (c *script) begin() {
	c.life = life.New()
	if c.Expires != 0 {
		c.life = life.Until(c.Expires.Std(), noScript())
	}
}

func noScript() error {
	return mail.Errorf(mail.Unknown, "credential not valid. To make another, in a terminal: pennypost credentials "+
		"add NAME")
}

// Scripts are the credentials that the person made for scripts: with one, a program sends and marks in the person's
// name. Its methods may be called concurrently.
type Scripts struct {
	path string

	mu    sync.Mutex
	list  []*script
	saved time.Time
}

// OpenScripts returns the credentials in the file at path, which need not exist.
func OpenScripts(path string) (*Scripts, error) {
	s := &Scripts{path: path}
	if err := kept.Load(path, &s.list); err != nil {
		return nil, fmt.Errorf("read the credentials for scripts: %w. To start without credentials, move this file "+
			"away: %s",
			err, path)
	}
	for _, c := range s.list {
		c.begin()
	}
	return s, nil
}

// Make creates a credential. Its token is returned only here.
func (s *Scripts) Make(ask wire.NewCredential) (wire.MadeCredential, error) {
	var made wire.MadeCredential
	if err := checkScript(&ask); err != nil {
		return made, err
	}
	now := mail.TimeOf(time.Now())
	made.Token = wire.ScriptPrefix + rand.Text()
	sum := sha256.Sum256([]byte(made.Token))
	made.Credential = wire.Credential{Name: ask.Name, Room: ask.Room, Made: now}
	if ask.For > 0 {
		made.Expires = now.Add(time.Duration(ask.For) * time.Second)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = slices.DeleteFunc(s.list, func(o *script) bool { return o.over(now) })
	switch {
	case slices.ContainsFunc(s.list, func(o *script) bool { return o.Name == ask.Name }):
		return wire.MadeCredential{}, mail.Errorf(mail.Conflict, "the credential %s already exists. To revoke it: "+
			"pennypost credentials revoke %s", ask.Name, ask.Name)
	case len(s.list) >= maxScripts:
		return wire.MadeCredential{}, mail.Errorf(mail.Limited, "too many credentials (%d): revoke one that no "+
			"script uses", maxScripts)
	}
	c := &script{Credential: made.Credential, Sum: hex.EncodeToString(sum[:])}
	c.begin()
	s.list = append(s.list, c)
	if err := s.saveLocked(); err != nil {
		s.list = s.list[:len(s.list)-1]
		return wire.MadeCredential{}, err
	}
	return made, nil
}

func checkScript(ask *wire.NewCredential) error {
	plain := strings.Trim(ask.Name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == ""
	const long = 100 * 365 * 24 * 60 * 60
	switch {
	case ask.Name == "" || len(ask.Name) > maxScriptName || !plain || ask.Name[0] == '-':
		return mail.Errorf(mail.Invalid, "%q is not a valid credential name: use letters, digits, dots and dashes, "+
			"such as nightly-report", ask.Name)
	case ask.For < 0 || ask.For > long:
		return mail.Errorf(mail.Invalid, "a credential is valid for at most 100 years")
	case ask.Room != "":
		_, err := mail.ParseRoom(string(ask.Room))
		return err
	}
	return nil
}

func (c *script) over(now mail.Time) bool { return c.Expires != 0 && c.Expires <= now }

// All returns the valid credentials, by name.
func (s *Scripts) All() []wire.Credential {
	now := mail.TimeOf(time.Now())
	s.mu.Lock()
	defer s.mu.Unlock()
	out := []wire.Credential{}
	for _, c := range s.list {
		if !c.over(now) {
			out = append(out, c.Credential)
		}
	}
	slices.SortFunc(out, func(a, b wire.Credential) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// Revoke revokes a credential. For an unknown one it returns an error with code NotFound.
func (s *Scripts) Revoke(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.list, func(o *script) bool { return o.Name == name })
	if i < 0 {
		return mail.Errorf(mail.NotFound, "no credential %q. To list them: pennypost credentials", name)
	}
	was, c := slices.Clone(s.list), s.list[i]
	s.list = slices.Delete(s.list, i, i+1)
	if err := s.saveLocked(); err != nil {
		s.list = was
		return err
	}
	c.life.End(noScript())
	return nil
}

// caller returns the caller with a token, given its hash. The work of ctx ends with the credential.
func (s *Scripts) caller(ctx context.Context, sum [sha256.Size]byte) (mail.Caller, error) {
	now := mail.TimeOf(time.Now())
	want := hex.EncodeToString(sum[:])
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.list, func(o *script) bool { return o.Sum == want && !o.over(now) })
	if i < 0 {
		return mail.Caller{}, noScript()
	}
	c := s.list[i]
	life.Stand(ctx, c.life)
	c.Seen = now
	if time.Since(s.saved) > scriptSeen {
		_ = s.saveLocked() // failing to store the time of use is no reason to refuse
	}
	return mail.Caller{Name: mail.User, Room: c.Room, Means: mail.ByScript}, nil
}

func (s *Scripts) saveLocked() error {
	if err := kept.Save(s.path, s.list); err != nil {
		return &mail.Error{Code: mail.Unavailable, Msg: "the credentials for scripts could not be saved. Nothing " +
			"was changed", Err: err}
	}
	s.saved = time.Now()
	return nil
}

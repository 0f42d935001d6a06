// Package invite records which other machines may use a post office: the codes that let one in, each once, and the
// tokens of those that are in.
package invite

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"pennypost/internal/base/durable"
	"pennypost/internal/base/jsonx"
	"pennypost/internal/base/kept"
	"pennypost/internal/base/life"
	"pennypost/internal/mail"
	"pennypost/internal/wire"
)

// Bounds.
const (
	defaultGood = 30 * time.Minute // a code is typed immediately, but stays visible in a terminal
	maxGood     = 24 * time.Hour
	// remembered is how long an ended code's fate is known, so that a machine that uses the code is told. Codes and
	// machines that have ended make room for others before that.
	remembered  = 24 * time.Hour
	maxCodes    = 100  // usable ones
	maxMachines = 1000 // each costs a few hundred bytes
	seenEvery   = 5 * time.Minute
)

// machine is a machine that was let in, as stored in the file. Exported fields change under List.mu.
type machine struct {
	wire.Machine
	Sum string `json:"sum"` // SHA-256 of its token, in hex

	pass *mail.Pass
	life *life.Life // of its token
}

// code is a code as stored in the file.
type code struct {
	wire.OpenCode
	Sum  string       `json:"sum"`            // SHA-256 of its secret, in hex
	Used mail.Machine `json:"used,omitempty"` // by this machine
}

// file is the whole file.
type file struct {
	Machines []*machine `json:"machines"`
	Codes    []*code    `json:"codes"`
}

// List is the list of machines that were let in, and of open codes. Its methods may be called concurrently.
type List struct {
	path string

	mu      sync.Mutex
	file    file
	saved   time.Time
	guesses guesses

	writing sync.Mutex // held while the file is written, so that the latest write is the latest state
}

// Open returns the list in the file at path, which need not exist.
func Open(path string) (*List, error) {
	l := &List{path: path}
	if err := kept.Load(path, &l.file); err != nil {
		return nil,
			fmt.Errorf("read the list of invited machines: %w. To start with an empty list, after which each "+
				"machine must join again, move this file away: %s", err, path)
	}
	for _, m := range l.file.Machines {
		m.begin()
	}
	return l, nil
}

// begin makes the fields that are not in the file.
func (m *machine) begin() {
	m.pass = &mail.Pass{Machine: m.Name, Rooms: m.Rooms, Agent: m.Agent, ID: m.Sum[:min(len(m.Sum), 16)]}
	m.life = life.New()
	if m.Expires != 0 {
		m.life = life.Until(
			m.Expires.Std(),
			mail.Errorf(mail.Unknown, "the access of the machine %s ended at %s. %s", m.Name, m.Expires, again),
		)
	}
}

// Invite makes a code.
func (l *List) Invite(ask wire.Invite) (wire.Secret, wire.OpenCode, error) {
	secret := wire.NewSecret()
	good := cmp.Or(time.Duration(ask.Good)*time.Second, defaultGood)
	if err := check(ask, good); err != nil {
		return secret, wire.OpenCode{}, err
	}
	now := mail.TimeOf(time.Now())
	c := &code{Sum: sumOf(secret.String()), OpenCode: wire.OpenCode{ID: strings.ToLower(rand.Text()[:8]),
		Rooms: ask.Rooms,
		Agent: ask.Agent, Made: now, Expires: now.Add(good), For: ask.For}}
	l.mu.Lock()
	l.tidy(now)
	ended := func(c *code) bool { return c.Used != "" || c.Expires <= now }
	full := len(l.file.Codes) >= maxCodes && !dropFirst(&l.file.Codes, ended)
	if !full {
		l.file.Codes = append(l.file.Codes, c)
	}
	l.mu.Unlock()
	if full {
		return secret, wire.OpenCode{}, mail.Errorf(mail.Limited,
			"too many open codes (%d). No code was made. To list them: pennypost invite --list; to revoke one: "+
				"pennypost invite --revoke ID", maxCodes)
	}
	if err := l.save(); err != nil {
		l.mu.Lock()
		l.file.Codes = slices.DeleteFunc(l.file.Codes, func(o *code) bool { return o == c })
		l.mu.Unlock()
		return secret, wire.OpenCode{}, notSaved("no code was made", err)
	}
	return secret, c.OpenCode, nil
}

func check(ask wire.Invite, good time.Duration) error {
	for _, r := range ask.Rooms {
		if _, err := mail.ParseRoom(string(r)); err != nil {
			return err
		}
	}
	if ask.Agent != "" {
		if _, err := mail.ParseName(string(ask.Agent)); err != nil {
			return err
		}
	}
	const long = 100 * 365 * 24 * 60 * 60
	if good < time.Second || good > maxGood || ask.For < 0 || ask.For > long {
		return mail.Errorf(mail.Invalid, "a code must be valid for a second to a day, and its access for at most "+
			"100 years")
	}
	return nil
}

// Redeem uses a code up and lets a machine in. before is the pass of the machine that asks, if it is in already: it
// may join again.
func (l *List) Redeem(ask wire.Join, from netip.Addr, before *mail.Pass) (wire.Joined, error) {
	name, err := mail.ParseMachine(string(ask.Machine))
	if err != nil {
		return wire.Joined{}, err
	}
	now := mail.TimeOf(time.Now())
	token := wire.MachinePrefix + rand.Text()
	m := &machine{Sum: sumOf(token), Machine: wire.Machine{Name: name, Joined: now, From: addr(from)}}
	l.mu.Lock()
	c, old, err := l.use(ask, name, from, before, now)
	if err == nil {
		m.Rooms, m.Agent = c.Rooms, c.Agent
		if c.For > 0 {
			m.Expires = now.Add(time.Duration(c.For) * time.Second)
		}
		m.begin()
		c.Used = name
		l.replace(old, m)
	}
	l.mu.Unlock()
	if err != nil {
		return wire.Joined{}, err
	}
	if err := l.save(); err != nil {
		l.mu.Lock()
		c.Used = ""
		l.replace(m, old)
		l.mu.Unlock()
		return wire.Joined{}, notSaved("the machine was not admitted, and the code is still valid", err)
	}
	if old != nil {
		old.life.End(revoked())
	}
	return wire.Joined{Token: token, Machine: name, Rooms: m.Rooms, Agent: m.Agent, Expires: m.Expires}, nil
}

// use returns the usable code, and the machine that the new one replaces. The caller holds mu.
func (l *List) use(ask wire.Join, name mail.Machine, from netip.Addr, before *mail.Pass, now mail.Time) (*code,
	*machine, error) {
	if err := l.guesses.check(from, now); err != nil {
		return nil, nil, err
	}
	l.tidy(now)
	sum := sumOf(ask.Secret)
	i := slices.IndexFunc(l.file.Codes, func(c *code) bool { return c.Sum == sum })
	switch {
	case i < 0:
		l.guesses.wrong(from)
		return nil, nil, mail.Errorf(
			mail.Denied,
			"code not valid: it was revoked, or it is not from this post office. To make a new one on its machine: "+
				"pennypost invite",
		)
	case l.file.Codes[i].Used != "":
		return nil, nil, mail.Errorf(mail.Denied,
			"code already used, by the machine %s. If that was not you, run on the machine of the post office: "+
				"pennypost invite --revoke %s. To make a new code there: pennypost invite",
			l.file.Codes[i].Used, l.file.Codes[i].Used)
	case l.file.Codes[i].Expires <= now:
		return nil, nil, mail.Errorf(mail.Denied,
			"this code expired at %s. To make a new one on the machine of the post office: pennypost invite",
			l.file.Codes[i].Expires)
	}
	var old *machine
	for _, m := range l.file.Machines {
		if m.Name == name {
			old = m
		}
	}
	switch {
	case old == nil && len(l.file.Machines) >= maxMachines && !l.dropEnded():
		return nil, nil, mail.Errorf(mail.Limited, "too many machines (%d). The code is still valid. To revoke "+
			"one, on the machine of the post office: pennypost invite --revoke NAME", maxMachines)
	case old != nil && old.life.Err() == nil && (before == nil || before.Machine != name):
		return nil, nil, mail.Errorf(mail.Conflict,
			"a machine named %s has joined already. If this is another machine, add --name NAME. If it is the same "+
				"one, first run on the machine of the post office: pennypost invite --revoke %s. The code is still "+
				"valid", name, name)
	}
	return l.file.Codes[i], old, nil
}

// replace replaces one machine with another; either may be nil. The caller holds mu.
func (l *List) replace(old, by *machine) {
	l.file.Machines = slices.DeleteFunc(l.file.Machines, func(m *machine) bool { return m == old })
	if by != nil {
		l.file.Machines = append(l.file.Machines, by)
	}
	slices.SortFunc(l.file.Machines, func(a, b *machine) int {
		return strings.Compare(string(a.Name), string(b.Name))
	})
}

// dropFirst removes the first element of a list for which is is true, and reports whether there was one.
func dropFirst[E any](list *[]E, is func(E) bool) bool {
	i := slices.IndexFunc(*list, is)
	if i >= 0 {
		*list = slices.Delete(*list, i, i+1)
	}
	return i >= 0
}

// dropEnded forgets the machine whose time was over first, and reports whether there was one. The caller holds mu.
func (l *List) dropEnded() bool {
	var first *machine
	for _, m := range l.file.Machines {
		if m.life.Err() != nil && (first == nil || m.Expires < first.Expires) {
			first = m
		}
	}
	return first != nil && dropFirst(&l.file.Machines, func(m *machine) bool { return m == first })
}

// tidy forgets codes that ended long ago. The caller holds mu.
func (l *List) tidy(now mail.Time) {
	l.file.Codes = slices.DeleteFunc(l.file.Codes, func(c *code) bool { return now.Sub(c.Expires) >= remembered })
}

// Admit returns the pass of the machine with a token. ctx ends when the token does.
func (l *List) Admit(ctx context.Context, token string, from netip.Addr) (*mail.Pass, error) {
	sum, now := sumOf(token), time.Now()
	l.mu.Lock()
	i := slices.IndexFunc(l.file.Machines, func(m *machine) bool { return m.Sum == sum })
	if i < 0 {
		l.mu.Unlock()
		return nil, revoked()
	}
	m := l.file.Machines[i]
	if err := life.Stand(ctx, m.life); err != nil {
		l.mu.Unlock()
		return nil, err
	}
	m.Seen, m.From = mail.TimeOf(now), addr(from)
	late := now.Sub(l.saved) >= seenEvery
	if late {
		l.saved = now // only one of many calls writes
	}
	l.mu.Unlock()
	if late {
		_ = l.save() // a lost time of the last visit is no error
	}
	return m.pass, nil
}

// Life returns the life of the token of a machine with a pass, nil if it is no longer let in. Without an id it is
// any token of the machine.
func (l *List) Life(name mail.Machine, id string) *life.Life {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, m := range l.file.Machines {
		if m.Name == name && (id == "" || id == m.pass.ID) && m.life.Err() == nil {
			return m.life
		}
	}
	return nil
}

func revoked() error {
	return mail.Errorf(
		mail.Unknown,
		"this machine has no access to this post office: it was revoked. %s",
		again,
	)
}

const again = "To let it join again, run pennypost invite on the machine of the post office, and the line that it " +
	"prints on this one"

// All returns the machines by name, and the usable codes.
func (l *List) All() wire.Invites {
	now := mail.TimeOf(time.Now())
	out := wire.Invites{Machines: []wire.Machine{}, Codes: []wire.OpenCode{}}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, m := range l.file.Machines {
		out.Machines = append(out.Machines, m.Machine)
	}
	for _, c := range l.file.Codes {
		if c.Used == "" && c.Expires > now {
			out.Codes = append(out.Codes, c.OpenCode)
		}
	}
	return out
}

// Revoke revokes the access of a machine, or a code, by its id. The machine's open calls end.
func (l *List) Revoke(name string) error {
	l.mu.Lock()
	before := len(l.file.Machines) + len(l.file.Codes)
	l.file.Machines = slices.DeleteFunc(l.file.Machines, func(m *machine) bool {
		if string(m.Name) == name {
			m.life.End(revoked())
		}
		return string(m.Name) == name
	})
	if before == len(l.file.Machines)+len(l.file.Codes) { // a machine's name may look like an id
		l.file.Codes = slices.DeleteFunc(l.file.Codes, func(c *code) bool { return c.Used == "" && c.ID == name })
	}
	left := len(l.file.Machines) + len(l.file.Codes)
	l.mu.Unlock()
	if left == before {
		return mail.Errorf(mail.NotFound, "no machine or code named %q", name)
	}
	if err := l.save(); err != nil {
		return &mail.Error{Code: mail.Unavailable, Err: err, Msg: "it is revoked, but the change could not be " +
			"saved, so a restart would undo it. Free some disk space and revoke it again"}
	}
	return nil
}

// Leave is Revoke for the machine that asks, with its pass.
func (l *List) Leave(pass *mail.Pass) error {
	if pass == nil {
		return mail.Errorf(mail.Invalid, "the caller is not a machine that has joined. Nothing was changed")
	}
	return l.Revoke(string(pass.Machine))
}

// save writes the file.
func (l *List) save() error {
	l.writing.Lock()
	defer l.writing.Unlock()
	l.mu.Lock()
	text, err := jsonx.Marshal(l.file)
	l.saved = time.Now()
	l.mu.Unlock()
	if err != nil {
		return err
	}
	return durable.WriteFile(l.path, append(text, '\n'), 0o600)
}

func notSaved(what string, err error) error {
	return &mail.Error{Code: mail.Unavailable, Err: err,
		Msg: "the list of machines cannot be saved: " + what + ". Free some disk space and try again"}
}

// sumOf returns the sum by which a secret is known. Comparing sums reveals nothing about the secret through timing.
func sumOf(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

func addr(a netip.Addr) string {
	if !a.IsValid() {
		return ""
	}
	return a.Unmap().String()
}

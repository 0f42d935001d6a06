package gate

import (
	"context"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"sync"
	"time"

	"pennypost/internal/base/kept"
	"pennypost/internal/mail"
	"pennypost/internal/wire"
)

// Limits of passphrases.
const (
	minPassphrase = 8 // characters: it is typed at a terminal, and guessed there too
	maxPassphrase = 1024
	rounds        = 600_000 // of PBKDF2 with SHA-256 (OWASP Password Storage, 2023)
	maxWrong      = 5       // wrong ones per minute
)

// passphrase is the contents of the passphrase file.
type passphrase struct {
	Salt   []byte `json:"salt"`
	Rounds int    `json:"rounds"`
	Sum    []byte `json:"sum"`
}

// Confirmations makes the person confirm important acts with a passphrase, once per terminal. Its methods may be
// called concurrently.
type Confirmations struct {
	path   string
	wanted bool // [user] confirm

	mu        sync.Mutex
	known     *passphrase       // nil: none is set
	confirmed map[terminal]bool // while the post office runs
	wrong     []time.Time       // in the last minute
}

// terminal is an open terminal: its device, and the process that leads its session.
type terminal struct {
	tty    int
	leader string
}

// OpenConfirmations returns Confirmations with the passphrase in the file at path, which need not exist. Unless
// wanted, nothing needs confirmation.
func OpenConfirmations(path string, wanted bool) (*Confirmations, error) {
	c := &Confirmations{path: path, wanted: wanted, confirmed: make(map[terminal]bool)}
	if err := kept.Load(path, &c.known); err != nil {
		return nil, fmt.Errorf("read the passphrase: %w. To start without a passphrase, move this file away: "+
			"%s", err, path)
	}
	return c, nil
}

// Check refuses an important act that was not confirmed at its terminal. Acts by other means than a terminal pass: a
// page is the confirmation itself, and programs do no such acts.
func (c *Confirmations) Check(ctx context.Context) error {
	v := visitOf(ctx)
	if c == nil || !c.wanted || v == nil || v.caller.Means != mail.ByTerminal && v.caller.Means != mail.BySystem {
		return nil
	}
	at, ok := terminalOf(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case ok && c.confirmed[at]:
		return nil
	case c.known == nil:
		return mail.Errorf(mail.Denied, "[user] confirm is on, but no passphrase is set. Nothing was done. Set one "+
			"with: pennypost credentials passphrase")
	}
	return mail.Errorf(
		mail.Unconfirmed,
		"your passphrase is needed, once in each terminal. Nothing was done. Type it in a terminal, or do this on "+
			"the pages",
	)
}

// terminalOf returns the terminal of a call.
func terminalOf(ctx context.Context) (terminal, bool) {
	p := PeerOf(ctx)
	if p == nil || p.itself() {
		return terminal{}, false
	}
	p.Programs()
	if len(p.tree) == 0 || p.tree[0].TTY == 0 {
		return terminal{}, false
	}
	at := terminal{tty: p.tree[0].TTY}
	for _, one := range p.tree {
		if one.PID == p.tree[0].Session {
			at.leader = one.Key
		}
	}
	return at, at.leader != ""
}

// Confirm checks the passphrase that the person typed at the terminal of the call of ctx.
func (c *Confirmations) Confirm(ctx context.Context, ask wire.Confirmation) error {
	at, ok := terminalOf(ctx)
	if !ok {
		return mail.Errorf(mail.Denied, "a passphrase is accepted from a terminal only")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.checkLocked(ask.Passphrase); err != nil {
		return err
	}
	c.confirmed[at] = true
	return nil
}

// checkLocked rejects a wrong passphrase.
func (c *Confirmations) checkLocked(typed string) error {
	now := time.Now()
	for len(c.wrong) > 0 && now.Sub(c.wrong[0]) > time.Minute {
		c.wrong = c.wrong[1:]
	}
	switch {
	case c.known == nil:
		return mail.Errorf(mail.Denied, "no passphrase is set. Set one with: pennypost credentials passphrase")
	case len(c.wrong) >= maxWrong:
		return mail.Errorf(mail.Limited, "%d wrong passphrases within a minute: wait a minute", maxWrong)
	}
	sum, err := stretch(typed, c.known.Salt, c.known.Rounds)
	if err != nil || subtle.ConstantTimeCompare(sum, c.known.Sum) == 0 {
		c.wrong = append(c.wrong, now)
		return mail.Errorf(mail.Denied, "wrong passphrase. Nothing was done")
	}
	return nil
}

func stretch(typed string, salt []byte, n int) ([]byte, error) {
	return pbkdf2.Key(sha256.New, typed[:min(len(typed), maxPassphrase)], salt, n, sha256.Size)
}

// Set sets the passphrase. Replacing one requires the old one; all terminals must then confirm again.
func (c *Confirmations) Set(ctx context.Context, ask wire.NewPassphrase) error {
	if n := len([]rune(ask.New)); n < minPassphrase || len(ask.New) > maxPassphrase {
		return mail.Errorf(
			mail.Invalid,
			"a passphrase must have at least %d characters and at most %d bytes. Nothing was changed",
			minPassphrase,
			maxPassphrase,
		)
	}
	if _, ok := terminalOf(ctx); !ok {
		return mail.Errorf(mail.Denied, "a passphrase is accepted from a terminal only")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known != nil {
		if err := c.checkLocked(ask.Old); err != nil {
			return err
		}
	}
	made := &passphrase{Salt: make([]byte, 16), Rounds: rounds}
	_, _ = rand.Read(made.Salt) // it never fails
	var err error
	if made.Sum, err = stretch(ask.New, made.Salt, rounds); err != nil {
		return err
	}
	if err := kept.Save(c.path, made); err != nil {
		return &mail.Error{Code: mail.Unavailable, Msg: "the passphrase could not be saved. Nothing was changed",
			Err: err}
	}
	c.known = made
	clear(c.confirmed)
	return nil
}

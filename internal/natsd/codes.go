package natsd

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"sync"
	"time"

	"pennypost/internal/base/kept"
	"pennypost/internal/mail"
	"pennypost/internal/wire"
)

// Limits of codes.
const (
	defaultGood = 30 * time.Minute
	maxGood     = 24 * time.Hour
	remembered  = 24 * time.Hour // after its end, so that a late user is told why it fails
	maxCodes    = 100
)

// code lets one machine in, once.
type code struct {
	Sum     string       `json:"sum"` // SHA-256 of its secret, in hex
	Expires mail.Time    `json:"expires"`
	Used    mail.Machine `json:"used,omitempty"` // the machine that used it
	Pin     string       `json:"pin,omitempty"`  // of that machine's key
}

// codes are the codes made here. Its methods may be called concurrently.
type codes struct {
	path string

	mu   sync.Mutex
	list []code
}

func openCodes(path string) (*codes, error) {
	c := &codes{path: path}
	return c, kept.Load(path, &c.list)
}

// tidy forgets codes that ended long ago. The caller holds mu.
func (c *codes) tidy() {
	now := mail.TimeOf(time.Now())
	c.list = slices.DeleteFunc(c.list, func(k code) bool { return now.Sub(k.Expires) >= remembered })
}

// any reports whether there are codes, so that a client with a code gets an answer.
func (c *codes) any() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tidy()
	return len(c.list) > 0
}

// has reports whether a secret belongs to a code, used and expired ones included.
func (c *codes) has(secret string) bool {
	sum := sumOf(secret)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tidy()
	return slices.ContainsFunc(c.list, func(k code) bool { return k.Sum == sum })
}

// make makes a code.
func (c *codes) make(good time.Duration) (wire.Secret, mail.Time, error) {
	secret := wire.NewSecret()
	if good == 0 {
		good = defaultGood
	}
	if good < time.Second || good > maxGood {
		return secret, 0, mail.Errorf(mail.Invalid, "a code is valid for a second to a day")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tidy()
	now := mail.TimeOf(time.Now())
	open := 0
	for _, k := range c.list {
		if k.Used == "" && k.Expires > now {
			open++
		}
	}
	if open >= maxCodes {
		return secret, 0, mail.Errorf(mail.Limited, "%d codes are open, which is the limit. No other was made",
			maxCodes)
	}
	made := code{Sum: sumOf(secret.String()), Expires: now.Add(good)}
	return secret, made.Expires, c.save(append(slices.Clone(c.list), made))
}

// use uses a code up, for the machine with a key. The same machine may use it again: it may not have received the
// answer. undo makes the code usable again.
func (c *codes) use(secret string, by mail.Machine, pin string) (undo func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tidy()
	sum, now := sumOf(secret), mail.TimeOf(time.Now())
	i := slices.IndexFunc(c.list, func(k code) bool { return k.Sum == sum })
	switch {
	case i < 0:
		return nil, mail.Errorf(mail.Denied, "no such code was made there")
	case c.list[i].Used != "" && c.list[i].Pin == pin:
		return func() {}, nil
	case c.list[i].Used != "":
		return nil, mail.Errorf(mail.Denied, "this code was used by the machine %s; each lets one machine join, "+
			"once. If that was not you, type there: pennypost cluster remove %s. To make a new code there: "+
			"pennypost cluster invite", c.list[i].Used, c.list[i].Used)
	case c.list[i].Expires <= now:
		return nil, mail.Errorf(mail.Denied, "this code was valid until %s. To make a new one there: pennypost "+
			"cluster invite", c.list[i].Expires)
	}
	list := slices.Clone(c.list)
	list[i].Used, list[i].Pin = by, pin
	return func() { c.free(sum) }, c.save(list)
}

// rename records the final name of the machine that has used a code.
func (c *codes) rename(secret string, name mail.Machine) {
	sum := sumOf(secret)
	c.mu.Lock()
	defer c.mu.Unlock()
	list := slices.Clone(c.list)
	for i := range list {
		if list[i].Sum == sum {
			list[i].Used = name
		}
	}
	_ = c.save(list) // otherwise it keeps the name that it asked for
}

// free makes a used code usable again.
func (c *codes) free(sum string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := slices.Clone(c.list)
	for i := range list {
		if list[i].Sum == sum {
			list[i].Used, list[i].Pin = "", ""
		}
	}
	_ = c.save(list) // otherwise it stays used, and the user makes another
}

// save writes a list, and then adopts it. The caller holds mu.
func (c *codes) save(list []code) error {
	if err := kept.Save(c.path, list); err != nil {
		return &mail.Error{Code: mail.Unavailable, Err: err,
			Msg: "cannot write the list of codes: " + err.Error()}
	}
	c.list = list
	return nil
}

// sumOf returns the hash that stands for a secret. Comparing hashes leaks nothing about the secret by its timing.
func sumOf(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

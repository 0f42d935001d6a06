package invite

import (
	"net/netip"
	"time"

	"pennypost/internal/mail"
)

// Bounds on wrong codes. A code has 80 bits and cannot be guessed; a client that tries it blocks only its own
// address.
const (
	maxWrong  = 10 // a minute from one address
	maxPlaces = 1000
)

// guesses counts the wrong codes of the current minute by their origin. List.mu guards it.
type guesses struct {
	minute mail.Time
	wrongs map[netip.Prefix]int
}

// check refuses an origin of too many wrong codes.
func (g *guesses) check(from netip.Addr, now mail.Time) error {
	if now.Sub(g.minute) >= time.Minute || now < g.minute {
		g.minute, g.wrongs = now, make(map[netip.Prefix]int)
	}
	if g.wrongs[place(from)] < maxWrong && len(g.wrongs) < maxPlaces {
		return nil
	}
	return mail.Errorf(mail.Limited, "too many wrong codes from this address; wait a minute. No code was tried")
}

func (g *guesses) wrong(from netip.Addr) { g.wrongs[place(from)]++ }

// place is an address, or all the addresses that a machine with IPv6 gives itself.
func place(a netip.Addr) netip.Prefix {
	bits := 32
	if a = a.Unmap(); a.Is6() {
		bits = 64
	}
	p, _ := a.WithZone("").Prefix(bits) // an invalid address gives no prefix
	return p
}

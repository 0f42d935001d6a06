package cli

import (
	"context"
	"net"
	"net/netip"

	"pennypost/internal/mail"
)

// PhoneOffer explains letting phones in, and PhoneQuestion asks about it.
const (
	PhoneOffer = "The post office can listen on your network with TLS, with a certificate that it makes. Without " +
		"a link from you, no one can read anything there."
	PhoneQuestion = "Let phones and other machines in?"
)

// PhoneFlag is the address at which the post office should listen for phones.
func PhoneFlag(into *string) Flag {
	return Flag{Into: into, Name: "phone-at", About: "listen for phones at this `HOST:PORT`, if you let them in; " +
		"default 0.0.0.0:8766, on every network"}
}

// LetPhonesIn makes the post office listen for other machines at an address, "" for every network, and ends the
// running one: it reads the configuration when it starts. It changes nothing if listening or access there would fail.
func (a *App) LetPhonesIn(ctx context.Context, at string) error {
	if at == "" {
		at = "0.0.0.0:8766"
	}
	c, err := a.LoadConfig()
	if err != nil {
		return err
	}
	c.TLS.Listen = at
	if err := c.CheckServe(); err != nil {
		return err
	}
	host, _, err := net.SplitHostPort(at)
	if ip, _ := netip.ParseAddr(host); err == nil && (ip.IsLoopback() || host == "localhost") && c.TLS.URL == "" {
		return mail.Errorf(mail.Invalid, "no phone can reach %s. Nothing was changed. Name an address of your "+
			"network; for a tunnel, first add its address as url to [tls] of %s", at, c.Home.File())
	}
	var listen net.ListenConfig
	l, err := listen.Listen(ctx, "tcp", at)
	if err != nil {
		return mail.Errorf(mail.Conflict, "nothing can listen at %s: %w. Nothing was changed; name another address "+
			"with --phone-at HOST:PORT", at, err)
	}
	l.Close()
	if err := a.AddToConfig("tls", "listen", at); err != nil {
		return err
	}
	_, _, err = a.StopOffice(ctx)
	return err
}

// Package pagetest has the whole site for tests of its parts. It imports the site; sitetest does not.
package pagetest

import (
	"testing"

	"pennypost/internal/office/web"
	"pennypost/internal/office/web/sitetest"
)

// New returns the site with a room and a logged-in person.
func New(t testing.TB) *sitetest.Fixture {
	return sitetest.New(t, func(o sitetest.Options) sitetest.Site {
		return web.New(web.Options{Office: o.Office, Key: o.Key, Host: o.Host, Attach: o.Attach, Away: o.Away,
			Kept: o.Kept, Closing: o.Closing, Log: o.Log, Version: o.Version})
	}, nil)
}

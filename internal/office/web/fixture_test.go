package web

import (
	"testing"

	"pennypost/internal/office/web/sitetest"
	"pennypost/internal/room/journal/journaltest"
)

// fixture is sitetest's, with the concrete site.
type fixture struct {
	*sitetest.Fixture
	site *Site
}

func newFixture(t testing.TB) *fixture { return newFixtureOn(t, nil) }

// newFixtureOn is a fixture whose room has an existing journal.
func newFixtureOn(t testing.TB, store *journaltest.Store) *fixture {
	b := new(fixture)
	b.Fixture = sitetest.New(t, func(o sitetest.Options) sitetest.Site {
		b.site = New(Options{Office: o.Office, Key: o.Key, Host: o.Host, Attach: o.Attach, Away: o.Away, Kept: o.Kept,
			Closing: o.Closing, Log: o.Log, Version: o.Version})
		return b.site
	}, store)
	return b
}

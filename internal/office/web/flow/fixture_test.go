package flow_test

import (
	"testing"

	"pennypost/internal/office/web"
	"pennypost/internal/office/web/sitetest"
)

// fixture is the whole site, and what tests here do on it.
type fixture struct{ *sitetest.Fixture }

func newFixture(t testing.TB) *fixture {
	return &fixture{sitetest.New(t, func(o sitetest.Options) sitetest.Site {
		return web.New(web.Options{Office: o.Office, Key: o.Key, Host: o.Host, Attach: o.Attach, Closing: o.Closing,
			Log: o.Log, Version: o.Version})
	}, nil)}
}

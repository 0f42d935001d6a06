package waits_test

import (
	"testing"
	"testing/synctest"

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

// inBubble runs a test on a fixture whose time passes when all wait.
func inBubble(t *testing.T, test func(t *testing.T, b *fixture)) {
	synctest.Test(t, func(t *testing.T) { test(t, newFixture(t)) })
}

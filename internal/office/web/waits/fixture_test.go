package waits_test

import (
	"testing"
	"testing/synctest"

	"pennypost/internal/office/web/pagetest"
	"pennypost/internal/office/web/sitetest"
)

// fixture is the whole site with the package's test helpers.
type fixture struct{ *sitetest.Fixture }

func newFixture(t testing.TB) *fixture {
	return &fixture{pagetest.New(t)}
}

// inBubble runs a test on a fixture in a synctest bubble.
func inBubble(t *testing.T, test func(t *testing.T, b *fixture)) {
	synctest.Test(t, func(t *testing.T) { test(t, newFixture(t)) })
}

package flow_test

import (
	"testing"

	"pennypost/internal/office/web/pagetest"
	"pennypost/internal/office/web/sitetest"
)

// fixture is the whole site with the package's test helpers.
type fixture struct{ *sitetest.Fixture }

func newFixture(t testing.TB) *fixture {
	return &fixture{pagetest.New(t)}
}

package agenties

import (
	"testing"

	"go.uber.org/goleak"

	"pennypost/internal/office/dialect/dialecttest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestScripts(t *testing.T) { dialecttest.Scripts(t, Dialect()) }

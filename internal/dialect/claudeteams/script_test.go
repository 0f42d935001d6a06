package claudeteams

import (
	"testing"

	"pennypost/internal/dialect/dialecttest"
)

func TestScripts(t *testing.T) { dialecttest.Scripts(t, Dialect()) }

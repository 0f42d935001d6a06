package claudeteams

import (
	"testing"

	"pennypost/internal/office/dialect/dialecttest"
)

func TestScripts(t *testing.T) { dialecttest.Scripts(t, Dialect()) }

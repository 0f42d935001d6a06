package haak_test

import (
	"testing"

	"pennypost/internal/dialect/dialecttest"
	"pennypost/internal/dialect/haak"
)

func TestScripts(t *testing.T) { dialecttest.Scripts(t, haak.Dialect()) }

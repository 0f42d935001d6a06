package haak_test

import (
	"testing"

	"pennypost/internal/office/dialect/dialecttest"
	"pennypost/internal/office/dialect/haak"
)

func TestScripts(t *testing.T) { dialecttest.Scripts(t, haak.Dialect()) }

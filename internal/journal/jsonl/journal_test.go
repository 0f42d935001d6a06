package jsonl

import (
	"testing"

	"go.uber.org/goleak"

	"pennypost/internal/journal"
	"pennypost/internal/journal/journaltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestContract(t *testing.T) {
	journaltest.Run(t, func(t *testing.T, dir string) journal.Journal {
		j, err := Open(dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		return j
	})
}

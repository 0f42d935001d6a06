package check

import (
	"reflect"
	"testing"

	"pennypost/internal/room/fold"
)

// The memory of each message of the last minutes, against repetition, is a few bytes and its id.
func TestP12_RepeatsAreSmall(t *testing.T) {
	if n := reflect.TypeFor[fold.Repeat]().Size() + reflect.TypeFor[sentAt]().Size(); n > 40 {
		t.Errorf("%d bytes are remembered of each message", n)
	}
}

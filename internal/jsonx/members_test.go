package jsonx

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMembers(t *testing.T) {
	got, err := Members([]byte(" {\"b\": {\n  \"x\":1.0}, \"a\\u0062\":[1, 2], \"c\":null}\n"))
	want := []Member{{"b", Value("{\n  \"x\":1.0}")}, {"ab", Value("[1, 2]")}, {"c", Value("null")}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("Members: %v (-want +got):\n%s", err, diff)
	}
	for _, bad := range []string{"", "[]", "{", `{"a":1`, `{"a"}`, `{"a":1,"a":2}`, `{"a":1} x`, `{} {}`} {
		if got, err := Members([]byte(bad)); err == nil {
			t.Errorf("Members(%q) = %v, want an error", bad, got)
		}
	}
}

package jsonx

import (
	"io"
	"strings"
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

func TestPick(t *testing.T) {
	// Pick does not wait for text after the object.
	in, out := io.Pipe()
	go io.WriteString(out, `{"a":1,"big":"`+strings.Repeat("x", 1<<20)+`","b":{"c":[2]},"a":3}`)
	got, err := Pick(in, "a", "b", "none")
	if diff := cmp.Diff(map[string]Value{"a": Value("3"), "b": Value(`{"c":[2]}`)}, got); diff != "" || err != nil {
		t.Errorf("Pick: %v (-want +got):\n%s", err, diff)
	}
	if got, err := Pick(strings.NewReader("{\"a\":\"\xff\"}"), "a"); err != nil || len(got) != 1 {
		t.Errorf("Pick of broken text = %v, %v", got, err)
	}
	for _, bad := range []string{"", "[]", "{", `{"a":1`, `{"a"}`, "x", `{"a":tru}`} {
		if got, err := Pick(strings.NewReader(bad), "a"); err == nil {
			t.Errorf("Pick(%q) = %v, want an error", bad, got)
		}
	}
}

func TestMended(t *testing.T) {
	for in, want := range map[string]string{
		`{"a": "\u00e9", "b" : 1.0}`:            `{"a": "\u00e9", "b" : 1.0}`, // valid: not a byte is changed
		`{"a": "half \ud83d", "b" : [ 1.0e5 ]}`: `{"a":"half ` + "\uFFFD" + `","b":[1.0e5]}`,
		"{\"a\":\"\xff\"}":                      `{"a":"` + "\uFFFD" + `"}`,
		`{"a":"\ud83d`:                          `{"a":"\ud83d`, // not JSON
	} {
		if got := string(Mended([]byte(in))); got != want {
			t.Errorf("Mended(%s) = %s, want %s", in, got, want)
		}
	}
}

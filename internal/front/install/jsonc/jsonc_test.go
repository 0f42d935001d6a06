package jsonc

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func mustParse(t *testing.T, text string) *Node {
	t.Helper()
	n, err := Parse([]byte(text))
	if err != nil {
		t.Fatalf("Parse(%q): %v", text, err)
	}
	return n
}

func TestParse(t *testing.T) {
	n := mustParse(t, "\ufeff// head\n{ \"a\\u00e9\\n\": [1, -2.5e+3, true, null,], /* c */ \"b\": {\"x\": "+
		"\"\\ud83d\\ude00\\ud800\"}, }\r\n// tail")
	if got := n.At("aé\n"); got == nil || len(got.Items) != 4 || got.Items[2].Value.Kind != True {
		t.Errorf("the array is %+v", got)
	}
	if got, want := n.At("b", "x").Text(), "😀\uFFFD"; got != want {
		t.Errorf("b.x = %q, want %q", got, want)
	}
	if n := mustParse(t, " \n"); n != nil {
		t.Errorf("white space has the value %+v", n)
	}
	if n.At("b", "x", "y") != nil || n.At("c") != nil {
		t.Error("a path that is not there has a value")
	}
}

func TestParseRefuses(t *testing.T) {
	for text, where := range map[string][2]int{
		"{":                            {1, 2},
		"{\n  \"a\": 1\n  \"b\": 2\n}": {3, 3},
		"{\"a\" 1}":                    {1, 6},
		"{a: 1}":                       {1, 2},
		"[01]":                         {1, 2},
		"[1.]":                         {1, 2},
		"[-]":                          {1, 2},
		"{} x":                         {1, 4},
		"\"a\n\"":                      {1, 1},
		"[\"\\x\"]":                    {1, 2},
		"[\"\\u12g4\"]":                {1, 2},
		"{\"a\":}":                     {1, 6},
		"// only":                      {2, 1},
		"{} /* open":                   {1, 4},
		"[nul]":                        {1, 2},
		"{,}":                          {1, 2},
	} {
		_, err := Parse([]byte(text))
		syntax, ok := errors.AsType[*SyntaxError](err)
		at := fmt.Sprintf("line %d, column %d: ", where[0], where[1])
		if !ok || !strings.HasPrefix(syntax.Error(), at) {
			t.Errorf("Parse(%.30q) = %v, want an error at %v", text, err, where)
		}
	}
}

// TestSecretsStay: an error does not show the content of a malformed file, and one that is nested without end is
// refused before it is parsed.
func TestSecretsStay(t *testing.T) {
	_, err := Parse([]byte("{\"token\": \"secret\n\"}"))
	if err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("Parse = %v", err)
	}
	if _, err := Parse(bytes.Repeat([]byte("["), 50<<20)); err == nil {
		t.Error("50 million brackets are a value")
	}
}

func TestSet(t *testing.T) {
	path, value := []string{"mcp", "p"}, `{"command":"x","args":["mcp"]}`
	for name, tt := range map[string]struct{ text, want string }{
		"nothing": {"", "{\n  \"mcp\": {\n    \"p\": {\n      \"command\": \"x\",\n      \"args\": [\n        " +
			"\"mcp\"\n      ]\n    }\n  }\n}\n"},
		"empty": {"{}", "{\n  \"mcp\": {\n    \"p\": {\n      \"command\": \"x\",\n      \"args\": [\n        " +
			"\"mcp\"\n      ]\n    }\n  }\n}"},
		"tabs, CRLF": {"{\r\n\t\"a\": 1\r\n}\r\n", "{\r\n\t\"a\": 1,\r\n\t\"mcp\": {\r\n\t\t\"p\": " +
			"{\r\n\t\t\t\"command\": \"x\",\r\n\t\t\t\"args\": " +
			"[\r\n\t\t\t\t\"mcp\"\r\n\t\t\t]\r\n\t\t}\r\n\t}\r\n}\r\n"},
		"one line": {`{"a": 1, "mcp": {"b": {}}}`,
			`{"a": 1, "mcp": {"b": {}, "p": {"command": "x", "args": ["mcp"]}}}`},
		"minified": {`{"a":1}`, `{"a":1,"mcp":{"p":{"command":"x","args":["mcp"]}}}`},
		"comments": {
			"{\n    // one\n    \"mcp\": {\n        \"b\": {} // two\n        // \"c\": {}\n    }\n}\n",
			"{\n    // one\n    \"mcp\": {\n        \"b\": {}, // two\n        // \"c\": {}\n        \"p\": {\n     " +
				"       \"command\": \"x\",\n            \"args\": [\n                \"mcp\"\n            ]\n      " +
				"  }\n    }\n}\n",
		},
		"trailing comma": {
			"{\n  \"mcp\": {\n    \"b\": {}, // two\n  },\n}\n",
			"{\n  \"mcp\": {\n    \"b\": {}, // two\n    \"p\": {\n      \"command\": \"x\",\n      \"args\": [\n   " +
				"     \"mcp\"\n      ]\n    },\n  },\n}\n",
		},
		"there already": {
			"{\n  \"mcp\": { \"p\": 1, \"q\": 2 }\n}\n",
			"{\n  \"mcp\": { \"p\": {\n    \"command\": \"x\",\n    \"args\": [\n      \"mcp\"\n    ]\n  }, \"q\": " +
				"2 }\n}\n",
		},
		"only a comment": {
			"{\n  \"mcp\": { /* none */ }\n}",
			"{\n  \"mcp\": { /* none */\n    \"p\": {\n      \"command\": \"x\",\n      \"args\": [\n        " +
				"\"mcp\"\n      ]\n    }\n  }\n}",
		},
		"closed behind the last": {
			"{ \"a\": 1,\n  \"b\": 2 }",
			"{ \"a\": 1,\n  \"b\": 2,\n  \"mcp\": {\n    \"p\": {\n      \"command\": \"x\",\n      \"args\": [\n   " +
				"     \"mcp\"\n      ]\n    }\n  }\n}",
		},
	} {
		got, err := Set([]byte(tt.text), path, value)
		if diff := cmp.Diff(tt.want, string(got)); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
}

func TestAppend(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{`{"h": {"Stop": []}}`, "{\"h\": {\"Stop\": [\n  1\n]}}"},
		{`{"h": {"Stop": [0]}}`, `{"h": {"Stop": [0, 1]}}`},
		{`{"h": {"Stop": [0,]}}`, `{"h": {"Stop": [0, 1,]}}`},
		{"{\n  \"h\": {\n    \"Stop\": [\n      0 // zero\n    ]\n  }\n}",
			"{\n  \"h\": {\n    \"Stop\": [\n      0, // zero\n      1\n    ]\n  }\n}"},
		{`{"x": 0}`, `{"x": 0, "h": {"Stop": [1]}}`},
	} {
		got, err := Append([]byte(tt.text), []string{"h", "Stop"}, "1")
		if diff := cmp.Diff(tt.want, string(got)); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", tt.text, err, diff)
		}
	}
}

func TestEditRefuses(t *testing.T) {
	for text, want := range map[string]string{
		`{"h": []}`:                   `line 1: "h" is an array, and should be an object`,
		"{\n\"h\": {\"Stop\": {}}}":   `line 2: "h.Stop" is an object, and should be an array`,
		`[]`:                          `line 1: the whole document is an array, and should be an object`,
		"{\"h\": {},\n\"h\": {}}":     `line 2: the member "h" occurs twice here`,
		"{\n  \"a\": 1,\n  oops\n}\n": `line 3, column 3: a value is malformed`,
	} {
		if _, err := Append([]byte(text), []string{"h", "Stop"}, "1"); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func TestDelete(t *testing.T) {
	for _, tt := range []struct{ text, name, want string }{
		{`{"a": 1, "b": 2, "c": 3}`, "a", `{"b": 2, "c": 3}`},
		{`{"a": 1, "b": 2, "c": 3}`, "b", `{"a": 1, "c": 3}`},
		{`{"a": 1, "b": 2, "c": 3}`, "c", `{"a": 1, "b": 2}`},
		{`{ "a": 1 }`, "a", `{}`},
		{"{\n  \"a\": 1, // one\n  \"b\": 2\n}", "b", "{\n  \"a\": 1 // one\n}"},
		{"{\n  \"a\": 1, // one\n  \"b\": 2, \"c\": 3\n}", "b", "{\n  \"a\": 1, // one\n   \"c\": 3\n}"},
		{"{\n  \"a\": 1,\n  \"b\": 2, // two\n  \"c\": 3,\n}", "b", "{\n  \"a\": 1, // two\n  \"c\": 3,\n}"},
		{"{\n  \"a\": 1,\n}", "a", "{}"},
		{"{\n  // why\n  \"a\": 1\n}", "a", "{\n  // why\n}"},
		{"{\n  \"a\": 1,\n  \"b\": 2\n}", "a", "{\n  \"b\": 2\n}"},
	} {
		n := mustParse(t, tt.text)
		for _, it := range n.Items {
			if it.Name != tt.name {
				continue
			}
			if diff := cmp.Diff(tt.want, string(n.Delete(it))); diff != "" {
				t.Errorf("%s without %s (-want +got):\n%s", tt.text, tt.name, diff)
			}
		}
	}
}

// FuzzEdit: any text that parses can be edited; the rest of it keeps its meaning; inserting and then deleting leaves
// no trace.
func FuzzEdit(f *testing.F) {
	for _, text := range []string{
		"", "{}", `{"a":1}`, "{\r\n\t\"a\": [1,\r\n2]\r\n}\r\n", "\ufeff{ // c\n}", "{\"a\": {\"b\": 1,},\n/* x */}",
		`{"a": 1 /* y */ , }`,
		"{\n  \"hooks\": {\n    \"Stop\": [ {\"x\": 1} // z\n ]\n  }\n}", `{"new": 1}`, `{"a":[]}`, "{\"a\":1//\n}",
		"{\"a\":1,//\n\"b\":2}", "{\"a\":1,//x\n\"b\":2,\"c\":3}",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		root, err := Parse(text)
		if err != nil || root != nil && (root.Kind != Object || root.Member("new") != nil) {
			return
		}
		with, err := Set(text, []string{"new", "thing"}, `{"command":"x","args":["y"]}`)
		if err != nil {
			t.Fatal(err)
		}
		n, err := Parse(with)
		if err != nil {
			t.Fatalf("%q became %q: %v", text, with, err)
		}
		if n.At("new", "thing", "command").Text() != "x" {
			t.Fatalf("%q became %q, and the new value is not found", text, with)
		}
		kept(t, text, with, root, n)
		for i := range n.Items {
			n, _ := Parse(with) // an edit makes it invalid
			it := n.Items[i]
			back := n.Delete(it)
			m, err := Parse(back)
			if err != nil || len(m.Items) != len(n.Items)-1 {
				t.Fatalf("%q without %q became %q: %v", with, it.Name, back, err)
			}
			if it.Name == "new" && root != nil && len(root.Items) > 0 && !bytes.Equal(back, text) &&
				!relaid(root) {
				t.Fatalf("put in and taken out: %q became %q and %q", text, with, back)
			}
		}
	})
}

// relaid reports whether the document closes on the line of its last item, but has line breaks elsewhere: then the
// closing brace gets a line of its own, which it keeps.
func relaid(root *Node) bool {
	end := (*root.after)[len(bytes.TrimRight(*root.after, space)):]
	return !bytes.Contains(end, []byte("\n"))
}

func kept(t *testing.T, text, with []byte, before, after *Node) {
	t.Helper()
	if before == nil {
		return
	}
	for i, it := range before.Items {
		if i >= len(after.Items) || after.Items[i].Name != it.Name ||
			!bytes.Equal(after.Items[i].Value.Raw(), it.Value.Raw()) {
			t.Fatalf("%q became %q, which changes %q", text, with, it.Name)
		}
	}
}

package jsonx

import (
	"bytes"
	"encoding/json"
	"testing"
)

// FuzzMembers checks that an object can be rebuilt from its members, and that other text has none.
func FuzzMembers(f *testing.F) {
	for _, s := range []string{`{"a":1,"b":[{}]}`, `{"a":1,"a":2}`, ` {"é\u0000": 1e999} `, `{} {}`, `[]`,
		`{"a":"\ud800"}`, "{\"\xff\":1}", `{"a":`, "\ufeff{}"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		all, err := Members(text)
		if err != nil {
			return
		}
		if !json.Valid(text) {
			t.Fatalf("%q is no JSON and has the members %+v", text, all)
		}
		var again bytes.Buffer
		again.WriteByte('{')
		for i, m := range all {
			if i > 0 {
				again.WriteByte(',')
			}
			again.Write(AppendQuote(nil, m.Name))
			again.WriteByte(':')
			again.Write(m.Value)
		}
		again.WriteByte('}')
		twice, err := Members(again.Bytes())
		if err != nil || len(twice) != len(all) {
			t.Fatalf("%q became %q: %v", text, &again, err)
		}
		for i := range all {
			if twice[i].Name != all[i].Name || !bytes.Equal(twice[i].Value, all[i].Value) {
				t.Errorf("%q became %q", text, &again)
			}
		}
	})
}

// FuzzUnmarshal checks that the strict reader accepts no more than the usual one, and that errors can be explained.
func FuzzUnmarshal(f *testing.F) {
	for _, s := range []string{`{"to":"a","n":1}`, `{"To":"a"}`, `{"n":1.5}`, `{"n":1,"n":2}`, `{"to":"\ud800"}`,
		`{"list":[{"to":[]}]}`, `null`} {
		f.Add([]byte(s))
	}
	type value struct {
		To   string  `json:"to"`
		N    int     `json:"n"`
		List []value `json:"list"`
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var strict, usual, lenient value
		strictly, usually, leniently := UnmarshalStrict(text, &strict), Unmarshal(text, &usual),
			UnmarshalLenient(text, &lenient)
		if strictly == nil && usually != nil || usually == nil && leniently != nil {
			t.Errorf("%q: strictly %v, usually %v, leniently %v", text, strictly, usually, leniently)
		}
		for _, err := range []error{strictly, usually, leniently} {
			if err != nil && Explain(err) == "" {
				t.Errorf("%q: no explanation of %v", text, err)
			}
		}
	})
}

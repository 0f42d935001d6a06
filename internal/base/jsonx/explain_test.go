package jsonx

import (
	"errors"
	"testing"
)

// even is a type with its own error text.
type even int

func (e *even) UnmarshalJSON(b []byte) error {
	if string(b) != "2" {
		return errors.New("an even number is wanted")
	}
	*e = 2
	return nil
}

func TestExplain(t *testing.T) {
	var into struct {
		Body  string               `json:"body"`
		Limit int                  `json:"limit"`
		Even  even                 `json:"even"`
		Docs  []struct{ P string } `json:"docs"`
	}
	for in, want := range map[string]string{
		`{"body":7}`:              `"body" cannot be this JSON number`,
		`{"body":[1]}`:            `"body" cannot be a JSON array`,
		`[]`:                      `the value cannot be a JSON array`,
		`{"limit":"many"}`:        `"limit" cannot be a JSON string`,
		`{"limit":1.5}`:           `"limit" cannot be this JSON number`,
		`{"body":true}`:           `"body" cannot be a JSON boolean`,
		`{"prioritty":1}`:         `unknown member "prioritty"`,
		`{"docs":[{"Q":1}]}`:      `unknown member "docs/0/Q"`,
		`{"body":"a","body":"b"}`: `the member "body" occurs twice`,
		`{"even":3}`:              `"even": an even number is wanted`,
		"{\"body\":\"\xff\"}":     `this is not JSON: invalid UTF-8 in "body"`,
	} {
		if err := UnmarshalStrict([]byte(in), &into); err == nil || Explain(err) != want {
			t.Errorf("%s: %q, want %q (%v)", in, Explain(err), want, err)
		}
	}
	if err := UnmarshalStrict([]byte(`{"body":`), &into); err == nil || Explain(err) == "" {
		t.Errorf("a torn document: %v", err)
	}
}

package jsonx

import (
	"io"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The decoder's types and errors that Explain uses.
type (
	semanticError  = json.SemanticError
	syntacticError = jsontext.SyntacticError
)

var (
	errUnknownName   = json.ErrUnknownName
	errDuplicateName = jsontext.ErrDuplicateName
)

// Value is raw JSON text.
type Value = jsontext.Value

type decoder = jsontext.Decoder

func newDecoder(r io.Reader) *decoder { return jsontext.NewDecoder(r) }

func newLenientDecoder(r io.Reader) *decoder {
	return jsontext.NewDecoder(r, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// AppendIndented appends JSON text with the white space of JSON.stringify(value, null, 2), where its own line is
// indented by depth. Names, strings and numbers keep their spelling.
func AppendIndented(dst, text []byte, depth int) []byte {
	dst, _ = jsontext.AppendFormat(dst, text, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true),
		jsontext.PreserveRawStrings(true), jsontext.WithIndentPrefix(strings.Repeat("  ", depth)),
		jsontext.WithIndent("  "))
	return dst
}

// AppendCompact appends JSON text without white space. Names, strings and numbers keep their spelling.
func AppendCompact(dst, text []byte) []byte {
	dst, _ = jsontext.AppendFormat(dst, text, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true),
		jsontext.PreserveRawStrings(true))
	return dst
}

// appendDecoded appends JSON text without white space and with decoded strings: invalid parts, such as half a
// surrogate pair, become U+FFFD.
func appendDecoded(dst, text []byte) ([]byte, error) {
	return jsontext.AppendFormat(dst, text, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// Marshal encodes v compactly, with maps in a fixed order; invalid UTF-8 is an error.
func Marshal(v any) ([]byte, error) { return json.Marshal(v, json.Deterministic(true)) }

// Unmarshal decodes data and ignores unknown members. Names are matched exactly, and duplicates are an error.
func Unmarshal(data []byte, v any) error { return json.Unmarshal(data, v) }

// UnmarshalStrict is Unmarshal for input at an edge: an unknown member is an error too.
func UnmarshalStrict(data []byte, v any) error {
	return json.Unmarshal(data, v, json.RejectUnknownMembers(true))
}

// UnmarshalLenient is Unmarshal for journal lines: invalid UTF-8 is replaced, so that an old line never becomes
// unreadable.
func UnmarshalLenient(data []byte, v any) error {
	return json.Unmarshal(data, v, jsontext.AllowInvalidUTF8(true))
}

// AppendQuote appends s to dst as a JSON string. Invalid UTF-8 becomes U+FFFD.
func AppendQuote(dst []byte, s string) []byte {
	dst, _ = jsontext.AppendQuote(dst, s)
	return dst
}

package jsonx

import (
	"errors"
	"strings"
)

// Explain turns an error of Unmarshal into words for people who do not write Go: which member is wrong, and how.
func Explain(err error) string {
	if syntactic, ok := errors.AsType[*syntacticError](err); ok {
		if errors.Is(err, errDuplicateName) {
			return "the member " + member(string(syntactic.JSONPointer)) + " occurs twice"
		}
		why := "this is not JSON: " + strings.TrimPrefix(syntactic.Err.Error(), "jsontext: ")
		if syntactic.JSONPointer != "" {
			why += " in " + member(string(syntactic.JSONPointer))
		}
		return why
	}
	semantic, ok := errors.AsType[*semanticError](err)
	if !ok {
		return err.Error()
	}
	where := member(string(semantic.JSONPointer))
	switch {
	case errors.Is(err, errUnknownName):
		return "unknown member " + where
	case semantic.Err != nil && !strings.HasPrefix(semantic.Err.Error(), "json: ") && semantic.GoType.PkgPath() != "":
		return where + ": " + semantic.Err.Error() // the type's own words
	}
	return where + " cannot be " + kind(byte(semantic.JSONKind))
}

// kind names a JSON value by its first byte.
func kind(k byte) string {
	switch k {
	case 'n':
		return "null"
	case 't', 'f':
		return "a JSON boolean"
	case '"':
		return "a JSON string"
	case '{':
		return "a JSON object"
	case '[':
		return "a JSON array"
	}
	return "this JSON number"
}

// member names the value at a JSON pointer.
func member(pointer string) string {
	if pointer == "" {
		return "the value"
	}
	return `"` + strings.TrimPrefix(pointer, "/") + `"`
}

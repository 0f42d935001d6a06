// Package jsonx is the JSON of the whole program: encoding/json/v2, taken from the standard library where
// that has it (Go 1.27) and from its experimental module until then.
//
// It exists to be deleted: at Go 1.27 its callers import encoding/json/v2.
package jsonx

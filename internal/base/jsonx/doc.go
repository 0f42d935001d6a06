// Package jsonx is the JSON codec of the whole program: encoding/json/v2, from the standard library once it is there
// (Go 1.27) and from its experimental module until then.
//
// It is temporary: at Go 1.27 its callers import encoding/json/v2.
package jsonx

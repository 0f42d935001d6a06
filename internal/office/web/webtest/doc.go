// Package webtest has only tests. They drive a real browser against the real program, as a person would.
package webtest

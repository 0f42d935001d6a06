// Package webtest has no code: its tests sit at a real browser, as a person would, before the real program.
package webtest

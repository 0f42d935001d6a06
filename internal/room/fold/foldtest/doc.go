// Package foldtest looks at a whole fold.State, for the tests of the fold and of the room: Dump writes down
// everything visible in it, and Miscounted finds where its lists differ from its records.
package foldtest

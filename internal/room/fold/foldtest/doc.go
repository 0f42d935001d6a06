// Package foldtest looks at a whole fold.State, for the tests of the fold and of the room: Dump writes down all that
// anybody can see of it, and Miscounted finds where the lists that it keeps are not those that its records give.
package foldtest

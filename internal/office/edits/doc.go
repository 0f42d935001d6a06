// Package edits says which files a call of a tool will change, as far as the call's text says so plainly. It knows the
// tools of all clients that have hooks, and reads the commands of shells.
//
// It errs towards silence: a word that cannot be known before the shell has expanded it (a substitution, a pattern, a
// variable that the command has not just set) names no file, and a command that does not parse, or is longer than
// MaxCommand, writes nothing that is known. What programs do to files that the command does not name (make, python,
// find -exec, xargs) is not seen. touch, mkdir and chmod are no writes here: they change no content.
//
// Nothing is run and no file is read. A few commands mean different things for a file and a directory (cp a b; git
// checkout x), and for those the path is looked up.
package edits

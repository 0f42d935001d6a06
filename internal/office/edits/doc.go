// Package edits determines which files a tool call will change, as far as the call's text shows it plainly. It knows
// the tools of all clients that have hooks, and parses shell commands.
//
// It errs on the side of silence: a word whose value depends on the shell (a substitution, a pattern, a variable
// that the command has not just set) names no file, and a command that does not parse, or is longer than MaxCommand,
// has no known writes. It does not see changes to files that the command does not name (make, python, find -exec,
// xargs). touch, mkdir and chmod are not writes: they change no content.
//
// It runs nothing and reads no file. A few commands mean different things for files and directories (cp a b; git
// checkout x); for those it looks up the path.
package edits

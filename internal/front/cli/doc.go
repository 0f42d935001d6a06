// Package cli is the command line: the code that every verb needs, and the order of the manual. The verbs are in the
// packages below it, one file each, a few lines over mail.Service. Start at App in cli.go and at verb.go, the common
// code of verbs; they call exit.go, printer.go, text.go and table.go. Package cli knows the wire, and no verb but
// hook, completion and version.
//
// Every verb follows these rules: the answer goes to standard output and everything else to standard error; --json
// prints the values of package mail, one a line, with terminal control characters escaped; an error is "pennypost:
// what happened" and, where something can be done, "hint: what to type next"; exit statuses are in exit.go. Mail is
// text from strangers: its terminal control characters are made visible (text.go).
//
// Agents and hooks run a command thousands of times a day, so it builds only the verb that was asked for, asks the
// post office once, and reads no configuration.
package cli

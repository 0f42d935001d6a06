// Package cli is the command line: what every verb needs, and the order of the manual. The verbs are in the packages
// below it, one file each, a few lines over mail.Service. Start at App in cli.go and at verb.go, which is what verbs
// have in common; exit.go, printer.go, text.go and table.go are what they call. It knows the wire, and no verb but
// hook, completion and version.
//
// What holds for every verb: the answer goes to standard output and everything else to standard error; --json gives
// the values of package mail, one a line, with what a terminal would obey escaped; an error is "pennypost: what
// happened" and, where something can be done, "hint: what to type next"; exit statuses are in exit.go. Mail is text
// from strangers: what a terminal would obey is made visible (text.go).
//
// A command is run thousands of times a day by agents and hooks, so it builds the one verb that was asked for, asks
// the post office once, and reads no configuration.
package cli

// Package command has the commands of the post office's own program: those that serve, and those of foreign systems.
// It adds them to package cli, which has the common commands and knows nothing of the internals of the post office.
//
// It may import all of the office and the front. Start at command.go, which has their table, and serve.go.
package command

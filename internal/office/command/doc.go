// Package command holds the commands of the post office's own program: those that serve, and those of foreign systems.
// It adds them to package cli, which holds what everybody runs often and knows nothing of the inside of the post
// office.
//
// It may know all of the office and the front. Start at command.go, which has the table of them, and serve.go.
package command

package cli

import "io"

// HelpAt runs a command on a terminal with that many columns.
func HelpAt(wide int, out io.Writer, front []Group, args []string) error {
	a := &App{Out: &Printer{To: out, Wide: wide}, args: args, front: front, Stdout: &ModelWriter{To: out}}
	a.Env = Env{Stdout: out, Stderr: out}
	root := newRoot(a, args)
	root.SetArgs(args)
	return root.Execute()
}

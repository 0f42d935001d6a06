package cli

import (
	"bufio"
	"context"
	"io"

	"github.com/spf13/cobra"

	"pennypost/internal/jsonx"
	"pennypost/internal/mail"
)

const exportHelp = `Write every message of the room to standard output, archived ones first, each with what its recipients
did. jsonl is one JSON object a line and json one array of them; both can be imported. markdown is for
people.`

func newExport(a *app) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use: "export", Short: "write every message of the room", Long: exportHelp,
		Example: "pennypost export > room.jsonl\npennypost export --format markdown | less", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.export(cmd.Context(), format) },
	}
	cmd.Flags().StringVar(&format, "format", "jsonl", "`FORMAT`: jsonl, json or markdown")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]string{"jsonl", "json", "markdown"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (a *app) export(ctx context.Context, format string) error {
	if format != "jsonl" && format != "json" && format != "markdown" {
		return usage("%q is not a format; use jsonl, json or markdown", format)
	}
	svc, err := a.service(ctx)
	if err != nil {
		return err
	}
	buffered := bufio.NewWriterSize(a.env.Stdout, 64<<10)
	n := 0
	for it, err := range svc.Export(ctx) {
		if err != nil {
			_ = buffered.Flush() // what came is of use, and the exit status says that it is not all
			return err
		}
		if err := writeItem(buffered, &it, format, n); err != nil {
			return err
		}
		n++
	}
	if format == "json" {
		end := "\n]\n"
		if n == 0 {
			end = "[]\n"
		}
		if _, err := buffered.WriteString(end); err != nil {
			return err
		}
	}
	return buffered.Flush()
}

// writeItem writes the nth message.
func writeItem(w *bufio.Writer, it *mail.Item, format string, n int) error {
	if format == "markdown" {
		return writeMarkdown(w, it, n)
	}
	b, err := jsonx.Marshal(it)
	if err != nil {
		return err
	}
	switch {
	case format == "jsonl":
		b = append(b, '\n')
	case n == 0:
		b = append([]byte("[\n"), b...)
	default:
		b = append([]byte(",\n"), b...)
	}
	_, err = w.Write(b)
	return err
}

// writeMarkdown writes a message as a section. The body is Markdown already and stands in a quotation, which keeps its
// headings out of the document's.
func writeMarkdown(w io.Writer, it *mail.Item, n int) error {
	p := &printer{w: w}
	if n > 0 {
		p.line("")
	}
	title := oneLine(it.Subject)
	if title == "" {
		title = string(it.Type)
	}
	p.line("## %s", title)
	p.line("")
	p.line("- %s from %s to %s, %s", it.Type, sender(it.From), addressees(it.To), it.Sent)
	p.line("- id `%s`", oneLine(string(it.ID)))
	if it.ReplyTo != "" {
		p.line("- answers `%s`", oneLine(string(it.ReplyTo)))
	}
	for _, d := range it.Deliveries {
		row := deliveryRow(p, d)
		p.line("- %s: %s", row[0][2:], row[1])
	}
	p.line("")
	p.line("%s", quote(visible(it.Body)))
	return p.err
}

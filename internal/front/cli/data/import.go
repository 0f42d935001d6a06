package data

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"iter"

	"github.com/spf13/cobra"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/base/wording"
	"pennypost/internal/front/cli"
	"pennypost/internal/mail"
	"pennypost/internal/mail/amq"
)

const importHelp = `Add the messages of an export, jsonl or json, to the room, with their ids and times. Messages
whose ids the room already has are skipped, so an import can be repeated. Up to 2000 messages are added
all or none: one invalid message rejects them all. A larger import runs in batches of 2000, and the
batches before the invalid message stay. FILE "-" is standard input.

With --from amq, the argument is the root directory of AMQ, which contains agents. Ids, threads and read
marks are kept; files that are not messages are listed and skipped. At the end the numbers of messages in
AMQ and in the room are compared. --dry-run does all this without adding messages.`

func newImport(a *app) *cobra.Command {
	var from string
	var dry bool
	return cli.WithFlags(&cobra.Command{
		Use: "import FILE|DIR", Short: "add the messages of an export, or of another program", Long: importHelp,
		Example: "pennypost import room.jsonl\npennypost export --room a | pennypost import --room b -\n" +
			"pennypost import --from amq .agent-mail/collab --dry-run",
		Args: cli.NArgs(1, "one file or directory; \"-\" is standard input"),
		RunE: cli.RunOne(func(ctx context.Context, path string) error {
			switch {
			case from == amq.Bridge:
				return a.importAMQ(ctx, path, dry)
			case from != "":
				return cli.Usage("cannot import mail of %q; --from supports amq", from)
			case dry:
				return cli.Usage("--dry-run needs --from")
			}
			return a.importFile(ctx, path)
		}),
	},
		cli.Flag{Into: &from, Name: "from", About: "the `PROGRAM` to import from: amq"},
		cli.Flag{Into: &dry, Name: "dry-run", About: "add nothing, and print what would be added"})
}

func (a *app) importFile(ctx context.Context, file string) error {
	in, err := a.Input(file, "")
	if err != nil {
		return err
	}
	defer in.Close()
	svc, err := a.Service(ctx)
	if err != nil {
		return err
	}
	done, err := a.importItems(ctx, svc, readItems(in))
	return a.Said(err, done, "%s added, %d already present.", wording.Plural(done.Added, "message"), done.Skipped)
}

// importItems imports messages, and reports how far an interrupted import came.
func (a *app) importItems(ctx context.Context, to importer, items iter.Seq2[mail.Item, error]) (
	mail.Imported, error) {
	progress := a.Progress("importing", cli.CountMessages)
	done, err := importParts(ctx, to, items, progress.Add)
	progress.End()
	if err != nil && done != (mail.Imported{}) {
		err = mail.Errorf(mail.CodeOf(err), "%w. Before that, %s were added and %d were already present. Repeat "+
			"the import after fixing the cause: it continues there", err,
			wording.Plural(done.Added, "message"), done.Skipped)
	}
	return done, err
}

// One call of an import holds one part: both here and in the post office only one part is in memory at a time, and it
// is added whole or not at all.
const (
	partMessages = 2000
	partBytes    = 8 << 20 // of bodies
)

// importer is the one method of mail.Service that an import needs.
type importer interface {
	Import(ctx context.Context, items []mail.Item) (mail.Imported, error)
}

// importParts sends the messages in parts, and returns the total outcome of the accepted parts. It calls taken with
// the number in each.
func importParts(ctx context.Context, to importer, items iter.Seq2[mail.Item, error], taken func(n int)) (
	done mail.Imported, err error) {
	part, bytes, parts := make([]mail.Item, 0, partMessages), 0, 0
	send := func() error {
		got, err := to.Import(ctx, part)
		if err != nil || len(part) == 0 {
			return err
		}
		done.Added, done.Skipped = done.Added+got.Added, done.Skipped+got.Skipped
		taken(len(part))
		part, bytes = part[:0], 0
		parts++
		return nil
	}
	for it, err := range items {
		if err != nil {
			return done, err
		}
		part, bytes = append(part, it), bytes+len(it.Body)
		if len(part) == partMessages || bytes >= partBytes {
			if err := send(); err != nil {
				return done, err
			}
		}
	}
	if len(part) > 0 || parts == 0 {
		err = send()
	}
	return done, err
}

// readItems yields the elements of one JSON array, or one JSON object a line.
func readItems(in io.Reader) iter.Seq2[mail.Item, error] {
	return func(yield func(mail.Item, error) bool) {
		r := bufio.NewReaderSize(in, 64<<10)
		first, err := firstByte(r)
		switch {
		case err == io.EOF:
			yield(mail.Item{}, cli.Usage("the file is empty"))
		case err != nil:
			yield(mail.Item{}, err)
		case first == '[':
			readArray(r, yield)
		default:
			readLines(r, yield)
		}
	}
}

func readArray(r io.Reader, yield func(mail.Item, error) bool) {
	for text, err := range jsonx.Elements(r) {
		var it mail.Item
		if err == nil {
			err = jsonx.Unmarshal(text, &it)
		}
		if err != nil {
			yield(it, cli.Usage("the file is not an export: %s", jsonx.Explain(err)))
			return
		}
		if !yield(it, nil) {
			return
		}
	}
}

func readLines(r *bufio.Reader, yield func(mail.Item, error) bool) {
	for n := 1; ; n++ {
		line, err := r.ReadBytes('\n')
		if err != nil && err != io.EOF {
			yield(mail.Item{}, err)
			return
		}
		if len(bytes.TrimSpace(line)) > 0 {
			var it mail.Item
			if err := jsonx.Unmarshal(line, &it); err != nil {
				yield(it, cli.Usage("line %d of the file is not an exported message: %s", n, jsonx.Explain(err)))
				return
			}
			if !yield(it, nil) {
				return
			}
		}
		if err == io.EOF {
			return
		}
	}
}

// firstByte returns the first byte that is not white space, unread.
func firstByte(r *bufio.Reader) (byte, error) {
	for {
		b, err := r.ReadByte()
		if err != nil {
			return 0, err
		}
		if !bytes.ContainsRune([]byte(" \t\r\n"), rune(b)) {
			return b, r.UnreadByte()
		}
	}
}

package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
)

const importHelp = `Add the messages of an export, jsonl or json, to the room, with their own ids and times. Messages
whose id the room knows are skipped, so you can repeat an import. If one message is wrong, none is
added. FILE "-" is standard input.`

func newImport(a *App) *cobra.Command {
	return &cobra.Command{
		Use: "import FILE", Short: "add the messages of an export", Long: importHelp,
		Example: "pennypost import room.jsonl\npennypost export --room a | pennypost import --room b -",
		Args:    NArgs(1, "one file; \"-\" is standard input"),
		RunE:    func(cmd *cobra.Command, args []string) error { return a.importFile(cmd.Context(), args[0]) },
	}
}

func (a *App) importFile(ctx context.Context, file string) error {
	in := a.Env.Stdin
	if file != "-" {
		f, err := os.Open(file)
		if errors.Is(err, fs.ErrNotExist) {
			return mail.Errorf(mail.NotFound, "there is no file %s", file)
		}
		if err != nil {
			return err
		}
		defer f.Close()
		in = f
	}
	items, err := readItems(in)
	if err != nil {
		return err
	}
	svc, err := a.service(ctx)
	if err != nil {
		return err
	}
	done, err := svc.Import(ctx, items)
	if err != nil {
		return err
	}
	if a.JSON {
		a.Out.Value(done)
		return nil
	}
	a.Out.Line("%s added, %d known before.", plural(done.Added, "message"), done.Skipped)
	return nil
}

// readItems reads one JSON array, or one JSON object a line.
func readItems(in io.Reader) ([]mail.Item, error) {
	r := bufio.NewReaderSize(in, 64<<10)
	first, err := firstByte(r)
	if err == io.EOF {
		return nil, Usage("the file is empty")
	}
	if err != nil {
		return nil, err
	}
	if first == '[' {
		text, err := io.ReadAll(r)
		if err != nil {
			return nil, err
		}
		var items []mail.Item
		if err := jsonx.Unmarshal(text, &items); err != nil {
			return nil, Usage("the file is not an export: %s", jsonx.Explain(err))
		}
		return items, nil
	}
	return readLines(r)
}

func readLines(r *bufio.Reader) ([]mail.Item, error) {
	var items []mail.Item
	for n := 1; ; n++ {
		line, err := r.ReadBytes('\n')
		if err != nil && err != io.EOF {
			return nil, err
		}
		if len(bytes.TrimSpace(line)) > 0 {
			var it mail.Item
			if err := jsonx.Unmarshal(line, &it); err != nil {
				return nil, Usage("line %d of the file is not a message of an export: %s", n, jsonx.Explain(err))
			}
			items = append(items, it)
		}
		if err == io.EOF {
			return items, nil
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

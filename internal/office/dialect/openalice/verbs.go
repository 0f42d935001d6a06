package openalice

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
	"pennypost/internal/office/dialect"
)

func verbs() []dialect.Verb {
	return []dialect.Verb{
		{
			Path: "workspace add", Short: "add a workspace, or change it, and make its token",
			Long: "Add the directory in which an agent works. The agent pushes to the Inbox at /mcp/ID with the " +
				"token that is shown here and nowhere\n" +
				"else. Adding a workspace again changes its directory and label and makes a new token; the one " +
				"before no longer opens anything.",
			Example: `pennypost workspace add ws-macro ~/research/macro --label "Macro thesis 2026-05"`,
			Args:    "ID DIR", MinArgs: 2, MaxArgs: 2,
			Flags: []dialect.Flag{{Name: "label", Usage: "`TEXT` above its entries; default its ID"}},
			Run:   addWorkspace,
		},
		{
			Path: "workspace list", Short: "list the workspaces of the room",
			Example: "pennypost workspace list", Run: listWorkspaces,
		},
		{
			Path: "workspace remove", Short: "forget a workspace; its directory and its entries stay",
			Example: "pennypost workspace remove ws-macro", Args: "ID", MinArgs: 1, MaxArgs: 1, Run: removeWorkspace,
		},
	}
}

func addWorkspace(ctx context.Context, v *dialect.Invocation) error {
	dir := v.Args[1]
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(v.Dir, dir)
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return mail.Errorf(mail.NotFound, "there is no directory %s; nothing was added", dir)
	}
	svc, err := v.As(ctx, mail.User)
	if err != nil {
		return err
	}
	w, err := svc.AddWorkspace(ctx, mail.Workspace{ID: mail.Name(v.Args[0]), Label: v.Text("label"),
		Dir: filepath.Clean(dir)})
	if err != nil {
		return err
	}
	token, err := svc.Token(ctx, w.ID)
	if err != nil {
		return err
	}
	if v.JSON {
		return writeJSON(v, struct {
			ID    mail.Name `json:"id"`
			Token string    `json:"token"`
		}{w.ID, token})
	}
	_, err = fmt.Fprintf(v.Stdout, `Workspace %s (%s) is %s.

Point its agent's MCP client to /mcp/%s of the post office, by default
  http://127.0.0.1:8765/mcp/%s
with the header
  Authorization: Bearer %s
The token is shown only here. Another one is made by running this again.
`, w.ID, w.Label, w.Dir, w.ID, w.ID, token)
	return err
}

func listWorkspaces(ctx context.Context, v *dialect.Invocation) error {
	list, err := workspaces(ctx, v)
	if err != nil {
		return err
	}
	if v.JSON {
		return writeJSON(v, struct {
			Workspaces []mail.Workspace `json:"workspaces"`
		}{slices.Concat([]mail.Workspace{}, list)})
	}
	if len(list) == 0 {
		_, err := fmt.Fprintln(v.Stdout, "The room has no workspaces. Add one with: pennypost workspace add ID DIR")
		return err
	}
	t := tabwriter.NewWriter(v.Stdout, 0, 0, 2, ' ', 0)
	for _, w := range list {
		fmt.Fprintf(t, "%s\t%s\t%s\n", w.ID, w.Label, w.Dir)
	}
	return t.Flush()
}

func workspaces(ctx context.Context, v *dialect.Invocation) ([]mail.Workspace, error) {
	svc, err := v.As(ctx, mail.User)
	if err != nil {
		return nil, err
	}
	return svc.Workspaces(ctx)
}

func removeWorkspace(ctx context.Context, v *dialect.Invocation) error {
	svc, err := v.As(ctx, mail.User)
	if err != nil {
		return err
	}
	id := mail.Name(v.Args[0])
	if err := svc.RemoveWorkspace(ctx, id); err != nil {
		return err
	}
	if v.JSON {
		return writeJSON(v, struct {
			Removed mail.Name `json:"removed"`
		}{id})
	}
	_, err = fmt.Fprintf(v.Stdout,
		"Workspace %s is forgotten and its token opens nothing more. Its directory and its entries stay.\n", id)
	return err
}

func writeJSON(v *dialect.Invocation, value any) error {
	text, err := jsonx.Marshal(value)
	if err != nil {
		return err
	}
	_, err = v.Stdout.Write(append(text, '\n'))
	return err
}

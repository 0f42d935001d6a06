package openalice

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"pennypost/internal/base/wording"
	"pennypost/internal/config"
	"pennypost/internal/mail"
	"pennypost/internal/office/dialect"
)

func verbs() []dialect.Verb {
	return []dialect.Verb{
		{
			Path: "workspace add", Short: "add a workspace, or change it, and make its token",
			Long: `Add the directory in which an agent works. With --install, the agent's client there is set up to use
Pennypost: it gets the tool inbox_push, and your answers reach it. Without it, the output
says how a client pushes over HTTP at /mcp/ID, with a token that is shown nowhere else. Adding a
workspace again changes its directory and label; without --install it makes a new token and revokes the
old one.`,
			Example: `pennypost workspace add ws-macro ~/research/macro --label "Macro thesis" --install claude`,
			Args:    "ID DIR", MinArgs: 2, MaxArgs: 2,
			Flags: []dialect.Flag{{Name: "label", Usage: "`TEXT` above its entries; default its ID"},
				{Name: "install", Usage: "set up this `CLIENT` there: claude, codex, gemini, …"}},
			Run: dialect.ForUser(addWorkspace),
		},
		{
			Path: "workspace list", Short: "list the workspaces of the room",
			Example: "pennypost workspace list", Run: dialect.ForUser(listWorkspaces),
		},
		{
			Path: "workspace remove", Short: "forget a workspace; its directory and its entries stay",
			Example: "pennypost workspace remove ws-macro", Args: "ID", MinArgs: 1, MaxArgs: 1,
			Run: dialect.ForUser(removeWorkspace),
		},
	}
}

func addWorkspace(ctx context.Context, v *dialect.Invocation, svc mail.Service) error {
	dir := v.Path(v.Args[1])
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return mail.Errorf(mail.NotFound, "no directory %s; nothing was added", dir)
	}
	w, err := svc.AddWorkspace(ctx, mail.Workspace{ID: mail.Name(v.Args[0]), Label: v.Text("label"), Dir: dir})
	if err != nil {
		return err
	}
	st, err := svc.Status(ctx)
	if err != nil {
		return err
	}
	if client := v.Text("install"); client != "" {
		return installWorkspace(v, &w, st.Name, client)
	}
	token, err := svc.Token(ctx, w.ID)
	if err != nil {
		return err
	}
	url, err := v.Address(ctx)
	if err != nil {
		return err
	}
	if url != "" {
		url += "/mcp/" + string(w.ID)
	}
	return v.Say(struct {
		ID    mail.Name     `json:"id"`
		Token string        `json:"token"`
		Room  mail.RoomName `json:"room"`
		URL   string        `json:"url,omitempty"`
	}{w.ID, token, st.Name, url}, `Workspace %s (%s) is %s, in room %s.

This is all that its agent's client needs, here for Claude Code:
  pennypost workspace add %s %s --room %s --install claude
It has inbox_push among its tools then, and your answers reach it by its hooks.

A client that only pushes, over HTTP, needs no installation:
  URL     %s
  header  Authorization: Bearer %s
The token is shown only here. To make another, run this again without --install.`, w.ID,
		w.Label, w.Dir, st.Name, w.ID, wording.Shell(w.Dir), st.Name,
		cmp.Or(url, "none: the post office listens on no port (pennypost serve --listen 127.0.0.1:8765)"), token)
}

// installWorkspace sets up a client to work in the workspace as its agent. It needs no token, so an existing one
// stays.
func installWorkspace(v *dialect.Invocation, w *mail.Workspace, room mail.RoomName, client string) error {
	lines, err := v.Install(client, w.Dir, w.ID, room)
	if err != nil {
		return mail.Errorf(mail.CodeOf(err), "the workspace %s was added, but its client is not set up: %w", w.ID,
			err)
	}
	return v.Say(struct {
		ID        mail.Name     `json:"id"`
		Room      mail.RoomName `json:"room"`
		Installed []string      `json:"installed"`
	}{w.ID, room, lines}, `Workspace %s (%s) is %s, in room %s.
  %s
Start %s in that directory: it pushes with inbox_push, and your answers reach it.`, w.ID,
		w.Label, w.Dir, room, strings.Join(lines, "\n  "), client)
}

func listWorkspaces(ctx context.Context, v *dialect.Invocation, svc mail.Service) error {
	list, err := svc.Workspaces(ctx)
	if err != nil {
		return err
	}
	if v.JSON {
		return v.WriteJSON(struct {
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

func removeWorkspace(ctx context.Context, v *dialect.Invocation, svc mail.Service) error {
	id := mail.Name(v.Args[0])
	dir := ""
	list, err := svc.Workspaces(ctx)
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(list, func(w mail.Workspace) bool { return w.ID == id }); i >= 0 {
		dir = list[i].Dir
	}
	if err := svc.RemoveWorkspace(ctx, id); err != nil {
		return err
	}
	more := ""
	if p, err := config.FindProject(dir); err == nil && p.Agent == id {
		more = fmt.Sprintf("\n%s still sets the agent there to %s. Remove the file, and run in that directory: "+
			"pennypost uninstall CLIENT --project", filepath.Join(dir, config.ProjectFile), id)
	}
	return v.Say(struct {
		Removed mail.Name `json:"removed"`
	}{id}, "Workspace %s is forgotten and its token revoked. Its directory and its entries stay.%s", id,
		more)
}

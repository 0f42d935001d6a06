// Package openalice implements the dialect of OpenAlice's workspace Inbox: agents that work in a workspace push
// entries (documents of the workspace, a comment, or both) to the person.
//
// Source: seeds/003 (https://www.traderalice.com/docs/workspaces/inbox) and observation of TraderAlice/OpenAlice at
// 7253ad5c of 2026-08-06: the shape of read-state.json, the answers of the HTTP routes, the order of checks.
//
// An entry is a message to the user. Differences from the original: a token proves the workspace, a bad line in
// entries.jsonl is skipped and counted where the original answers 500, symbolic links that lead out of a workspace
// are refused, and binary documents can be downloaded, as its documentation promises. docs/dialects/openalice.md
// lists the rest.
package openalice

import (
	"context"

	"pennypost/internal/mail"
	"pennypost/internal/office/dialect"
)

// Dialect returns the dialect.
func Dialect() dialect.Dialect {
	return dialect.Dialect{
		Name:  "openalice",
		About: "OpenAlice's workspace Inbox: inbox_push, /api/inbox and data/inbox/entries.jsonl",
		Endpoints: []dialect.Endpoint{
			{
				Path:  "/mcp/{agent}",
				Known: knownWorkspace, Beside: true,
				Instructions: "This workspace's line to the person who runs it. Push what they should see; they " +
					"answer in this session.",
				Tools: []dialect.Tool{inboxPush()},
			},
			{
				Path:         "/dialect/openalice/mcp",
				Instructions: "Legacy notifications for automations that run outside any workspace.",
				Tools:        []dialect.Tool{notifyUser()},
			},
		},
		IDs:         mail.IDUUID,
		Files:       openFiles,
		Where:       "the directory that contains data/inbox",
		Top:         []string{"workspace"},
		SharedNames: true, // a workspace is a directory that any number of sessions may open
		Verbs:       verbs(),
		Routes:      routes(),
	}
}

// knownWorkspace admits workspaces only.
func knownWorkspace(ctx context.Context, svc mail.Service, agent mail.Name) error {
	labels, err := labels(ctx, svc)
	if err != nil {
		return err
	}
	if _, ok := labels[agent]; !ok {
		return mail.Errorf(mail.NotFound, "unknown workspace")
	}
	return nil
}

// labels returns the labels of the room's present workspaces.
func labels(ctx context.Context, svc mail.Service) (map[mail.Name]string, error) {
	list, err := svc.Workspaces(ctx)
	if err != nil {
		return nil, err
	}
	out := make(map[mail.Name]string, len(list))
	for _, w := range list {
		out[w.ID] = w.Label
	}
	return out, nil
}

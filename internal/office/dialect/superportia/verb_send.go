package superportia

import (
	"context"
	"fmt"

	"pennypost/internal/mail"
	"pennypost/internal/office/dialect"
)

// sendVerb is send_agent_message for programs without MCP: the document has an SRE system that alerts all agents.
func sendVerb() dialect.Verb {
	return dialect.Verb{
		Path: "send", Short: "put a message into an identity's mailbox, or into all mailboxes", Writes: true,
		Run: runSend,
		Long: "Send as send_agent_message does, for scripts. There are no group messages: with --all each identity " +
			"but the sender gets one of its own.",
		Example: `SP_AGENT_ID="SRE system" pennypost superportia send --all --priority urgent --subject "disk full" ` +
			`--body "SS2 has 1 GB left"`,
		Flags: []dialect.Flag{
			{Name: "to", Usage: "`IDENTITY`, spelled exactly"},
			{Name: "all", Usage: "to each identity", Kind: dialect.Switch},
			{Name: "subject", Usage: "one `LINE`", Required: true},
			{Name: "body", Usage: "the `TEXT`, in Markdown; - reads standard input", Required: true},
			{Name: "priority", Usage: "normal or urgent", Default: "normal"},
		},
	}
}

func runSend(ctx context.Context, v *dialect.Invocation) error {
	if (v.Text("to") == "") != v.Switch("all") {
		return mail.Errorf(mail.Invalid, "give --to IDENTITY or --all; nothing was stored")
	}
	c, err := call(ctx, v)
	if err != nil {
		return err
	}
	p := sendParams{Subject: v.Text("subject"), Priority: v.Text("priority")}
	if p.Body, err = v.Piped(v.Text("body")); err != nil {
		return err
	}
	to := []single{single(v.Text("to"))}
	if v.Switch("all") {
		if to, err = others(ctx, c); err != nil {
			return err
		}
	}
	done := make([]*sent, 0, len(to))
	for _, p.To = range to {
		s, err := deliver(ctx, c, p)
		if err != nil {
			return mail.Errorf(mail.CodeOf(err), "to %s: %w. %d of %d messages were sent", p.To, err, len(done),
				len(to))
		}
		done = append(done, s)
		if !v.JSON {
			fmt.Fprintf(v.Stdout, "%s to %s\n", s.ID, oneLine(string(s.To)))
		}
	}
	if v.JSON {
		return v.WriteJSON(done)
	}
	return nil
}

// others returns all identities except the caller.
func others(ctx context.Context, c *dialect.Call) ([]single, error) {
	roster, _, err := fleetRoster(ctx, c.Service)
	if err != nil {
		return nil, err
	}
	var all []single
	for _, id := range identities(roster) {
		if id.Identity != c.Caller {
			all = append(all, single(id.Identity))
		}
	}
	return all, nil
}

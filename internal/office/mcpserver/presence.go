package mcpserver

import (
	"context"
	"fmt"
	"strings"

	"pennypost/internal/mail"
	"pennypost/internal/office/dialect"
)

type presenceParams struct {
	Name    mail.Name  `json:"name"`
	Roles   []string   `json:"roles"`
	Tags    []string   `json:"tags"`
	Task    *string    `json:"task"`
	State   mail.State `json:"state"`
	Claim   []string   `json:"claim"`
	Release []string   `json:"release"`
}

// presence is an agent as set_presence describes it to itself.
type presence struct {
	agentLine
	Holds []string `json:"holds,omitempty"` // claims it got of those it asked for
}

func setPresence(ctx context.Context, c *dialect.Call, p presenceParams) (out presence, err error) {
	a, err := c.Service.Register(ctx, mail.Presence{Roles: p.Roles, Tags: p.Tags, Task: p.Task, State: p.State})
	if err == nil && p.Name != "" && p.Name != a.Name {
		a, err = c.Service.Rename(ctx, a.Name, p.Name)
	}
	out.agentLine = rosterLine(&a)
	if err == nil && len(p.Release) > 0 {
		_, err = c.Service.Claim(ctx, mail.ClaimRequest{Words: p.Release, Release: true})
	}
	if err == nil && len(p.Claim) > 0 {
		out.Holds, err = claim(ctx, c.Service, p.Claim)
	}
	return out, err
}

// claim takes the targets that words name. A caller that is refused gets mail when they are free.
func claim(ctx context.Context, svc mail.Service, words []string) (holds []string, err error) {
	got, err := svc.Claim(ctx, mail.ClaimRequest{Words: words, Wait: true})
	if err != nil {
		return nil, err
	}
	if len(got.Clashes) > 0 {
		var held []string
		for _, clash := range got.Clashes {
			held = append(held, fmt.Sprintf("%s by %s since %s", clash.Held.Target, clash.Held.Agent,
				clash.Held.Clock()))
		}
		return nil, mail.Errorf(mail.Conflict, "nothing was claimed; held: %s. Mail will tell you when it is "+
			"free", strings.Join(held, "; "))
	}
	for _, h := range got.Held {
		holds = append(holds, h.Target.String())
	}
	return holds, nil
}

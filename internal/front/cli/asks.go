package cli

import (
	"context"
	"slices"

	"pennypost/internal/base/wording"
	"pennypost/internal/mail"
)

// SayWhoAsks prints, above a list of mail, that agents wait for the person, and returns their dialogs. It prints
// nothing for a caller that is not the person.
func (a *App) SayWhoAsks(ctx context.Context) []mail.Card {
	list := a.AsksUser(ctx, mail.DialogQuery{})
	var agents []string
	for i := range list {
		if who := string(list[i].Room) + "/" + string(list[i].Agent); !slices.Contains(agents, who) {
			agents = append(agents, who)
		}
	}
	switch len(agents) {
	case 0:
	case 1:
		a.Out.Line("%s", a.Out.Bold("1 agent asks you: pennypost dialogs"))
	default:
		a.Out.Line("%s", a.Out.Bold(wording.Plural(len(agents), "agent")+" ask you: pennypost dialogs"))
	}
	return list
}

// AsksUser returns the open dialogs if the caller is the person. Its errors do not fail a list of something else.
func (a *App) AsksUser(ctx context.Context, q mail.DialogQuery) []mail.Card {
	if who, err := a.Who(); err != nil || who != mail.User {
		return nil
	}
	office, err := a.Post()
	if err != nil {
		return nil
	}
	list, err := office.Dialogs(ctx, q)
	if err != nil {
		return nil
	}
	return list.Cards
}

package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"pennypost/internal/base/wording"
	"pennypost/internal/mail"
	"pennypost/internal/wire/client"
)

// deskVerb is the full-screen view in a terminal, which the post office's program draws.
const deskVerb = "desk"

// glimpse is the number of conversations printed where no full screen can be drawn.
const glimpse = 5

// alone is the program without a verb: on a terminal the full-screen view, elsewhere a glimpse of what needs the
// person. Agents, who cannot be the person, get the manual.
func (a *App) alone(cmd *cobra.Command) error {
	if who, err := a.Who(); err != nil || who != mail.User {
		return cmd.Help()
	}
	if a.JSON || !a.fullScreen() {
		return a.glimpse(cmd.Context())
	}
	for _, c := range cmd.Commands() {
		if c.Name() == deskVerb {
			c.SetContext(cmd.Context())
			return c.RunE(c, nil)
		}
	}
	return cmd.Help()
}

// fullScreen reports whether a person here can see a full screen, and type.
func (a *App) fullScreen() bool { return a.InTerminal() && a.Env.Getenv("TERM") != "dumb" }

// glimpse prints the conversations that have waited longest for the person, and the number of others.
func (a *App) glimpse(ctx context.Context) error {
	q := mail.DeskQuery{Limit: glimpse}
	if a.Room != "" {
		room, err := mail.ParseRoom(a.Room)
		if err != nil {
			return err
		}
		q.Rooms = []mail.RoomName{room}
	}
	return Ask(ctx, a, a.AtOffice, (*client.Office).Desk, q, func(desk mail.Desk) error {
		a.SayWhoAsks(ctx)
		return a.showGlimpse(desk)
	})
}

func (a *App) showGlimpse(desk mail.Desk) error {
	var rows [][]string
	for i := range desk.Needs {
		rows = append(rows, a.glimpsed(&desk.Needs[i]))
	}
	a.Out.Table(rows, 2)
	a.Out.Line("%s", a.Out.Dim(summary(&desk)))
	return nil
}

// glimpsed is a row for a conversation that needs the person: who wrote and where, since when, the subject, and the
// answers to choose from.
func (a *App) glimpsed(c *mail.Conversation) []string {
	sign := "?"
	if c.Urgent {
		sign = a.Out.Red("!")
	}
	about := c.Subject
	if about == "" {
		about = c.Preview
	}
	about = Shorten(OneLine(about), HeadlineWidth)
	var options []string
	for i, o := range c.Metadata.Options() {
		options = append(options, fmt.Sprintf("%d %s", i+1, Shorten(OneLine(o.Answer), HeadlineWidth/2)))
	}
	if len(options) > 0 {
		about += "   " + strings.Join(options, " · ")
	}
	who := Sender(&c.Message, 28) + " (" + OneLine(string(c.Room)) + ")"
	return []string{sign, who, wording.Span(a.Out.Now.Sub(c.Sent.Std())), about}
}

// summary gives the total, and the command to type.
func summary(d *mail.Desk) string {
	out := "Nothing needs you."
	if rest := d.Waiting - len(d.Needs); rest > 0 {
		out = fmt.Sprintf("And %d more.", rest)
	} else if d.Waiting > 0 {
		out = fmt.Sprintf("%d in all.", d.Waiting)
	}
	if d.Unread > 0 {
		out += " " + wording.Plural(d.Unread, "unread update") + "."
	}
	if d.Waiting+d.Unread > 0 {
		out += " On a terminal pennypost shows them; here: pennypost inbox --all-rooms"
	}
	if len(d.Away) > 0 {
		out += "\nCannot be opened: " + Joined(d.Away, ", ")
	}
	return out
}

package setup

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"pennypost/internal/config"
	"pennypost/internal/front/cli"
	"pennypost/internal/mail"
	"pennypost/internal/wire"
	"pennypost/internal/wire/client"
)

const notifyHelp = `List the channels that notify you of mail when you are not looking at a page: what each
reports, its last notification, the answer of the other side, and its next quiet hours. Channels are
sections of the configuration: [notify.desktop], [notify.ntfy], [notify.telegram], [notify.webhook],
[notify.smtp] and [notify.command]; docs/notify.md has an example of each. Without a channel you are not
notified.`

const notifyTestHelp = `Send a test through one channel, or through all, and print the answer of the other side.

The exit status is 1 if a test fails.`

const notifyPairHelp = `Make a code that pairs a chat with its channel, so that you are notified of mail there.

Send the code to the bot within ten minutes, from a private chat with it. From then on the bot obeys you
in that chat, and nobody else. An earlier pairing ends.`

const notifyUnpairHelp = `End the pairing of a channel's chat. The bot no longer obeys it, and sends no notifications
there, until a chat is paired again.`

func newNotify(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "notify", Short: "list your notification channels, and test them", Long: notifyHelp,
		Example: "pennypost notify\npennypost notify test\npennypost notify test ntfy",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return cli.Hinted(cli.Usage("there is no command \"notify %s\"", args[0]), "pennypost notify --help")
			}
			return nil
		},
		RunE: cli.Run(a.notify),
	}
	cmd.AddCommand(&cobra.Command{
		Use: "test [CHANNEL]", Short: "send a test, and print the answer", Long: notifyTestHelp,
		Example: "pennypost notify test\npennypost notify test smtp",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.notifyTest(cmd.Context(), strings.Join(args, ""))
		},
		ValidArgs: config.NotifyChannels(),
	}, &cobra.Command{
		Use: "pair CHANNEL", Short: "make a code that pairs a chat", Long: notifyPairHelp,
		Example: "pennypost notify pair telegram", Args: cobra.ExactArgs(1),
		RunE:      func(cmd *cobra.Command, args []string) error { return a.notifyPair(cmd.Context(), args[0]) },
		ValidArgs: config.NotifyChats(),
	}, &cobra.Command{
		Use: "unpair CHANNEL", Short: "end the pairing of a chat", Long: notifyUnpairHelp,
		Example: "pennypost notify unpair telegram", Args: cobra.ExactArgs(1),
		RunE:      func(cmd *cobra.Command, args []string) error { return a.notifyUnpair(cmd.Context(), args[0]) },
		ValidArgs: config.NotifyChats(),
	})
	return cmd
}

// ownOffice returns the post office if the caller is the user.
func (a *app) ownOffice() (*client.Office, error) {
	if err := a.OnlyUser("manage notifications"); err != nil {
		return nil, err
	}
	return a.Post()
}

func (a *app) notify(ctx context.Context) error {
	office, err := a.ownOffice()
	if err != nil {
		return err
	}
	list, err := office.Notify(ctx)
	return cli.Answer(a.App, wire.NotifyChannels{Channels: list}, err, a.showChannels)
}

func (a *app) showChannels(all wire.NotifyChannels) error {
	list := all.Channels
	if len(list) == 0 {
		a.Out.Line(
			"You see mail only on the pages and in the terminal. For notifications, add a section " +
				"[notify.desktop], or another channel, to the configuration: docs/notify.md has examples.")
	}
	for i := range list {
		a.Out.Table(a.channelRows(&list[i]))
	}
	a.notifyUnread(list)
	return nil
}

// channelRows shows the state of a channel.
func (a *app) channelRows(c *wire.NotifyChannel) [][]string {
	rows := [][]string{{a.Out.Bold(c.Name), "tells: " + strings.ReplaceAll(c.What, ",", ", ")}}
	last := "no notification yet"
	if c.Last != 0 {
		last = "last notified " + a.Out.Ago(c.Last)
		if c.Answer != "" {
			last += ": " + cli.OneLine(c.Answer)
		}
	}
	rows = append(rows, []string{"", last})
	if c.Failed != "" {
		since := "fails: "
		if c.Since != 0 {
			since = "failing since " + a.Out.Ago(c.Since) + ": "
		}
		rows = append(rows, []string{"", a.Out.Red(since + cli.OneLine(c.Failed))})
	}
	if c.Waiting > 0 {
		rows = append(rows, []string{"", strconv.Itoa(c.Waiting) + " waiting to be sent"})
	}
	if c.QuietUntil != 0 {
		form := func(t mail.Time) string { return t.Std().Local().Format("Mon 15:04") }
		quiet := "quiet hours from " + form(c.QuietFrom) + " to " + form(c.QuietUntil)
		if !c.QuietFrom.Std().After(a.Out.Now) {
			quiet = "quiet now, until " + form(c.QuietUntil)
		}
		rows = append(rows, []string{"", quiet})
	}
	if c.Paired != "" {
		rows = append(rows, []string{"", "paired " + a.Out.Ago(c.PairedSince) + " with " + cli.OneLine(c.Paired)})
	}
	if c.Answers {
		rows = append(rows, []string{"", "questions can be answered there"})
	}
	return rows
}

// notifyUnread warns if the configuration has changed since the post office read it.
func (a *app) notifyUnread(list []wire.NotifyChannel) {
	c, err := a.LoadConfig()
	if err != nil {
		return // doctor reports it
	}
	var have []string
	for _, one := range list {
		have = append(have, one.Name)
	}
	if on := c.Notify.On(); !slices.Equal(on, have) {
		a.Out.Line(
			"The post office has not read your changes of [notify] yet. To restart it: pennypost stop")
	}
}

func (a *app) notifyTest(ctx context.Context, channel string) error {
	office, err := a.ownOffice()
	if err != nil {
		return err
	}
	tests, err := office.NotifyTest(ctx, channel)
	if err != nil {
		return err
	}
	failed := slices.ContainsFunc(tests, func(t wire.NotifyTested) bool { return t.Failed != "" })
	if a.JSON {
		a.Out.Value(wire.NotifyTests{Tests: tests})
	} else {
		var rows [][]string
		for _, t := range tests {
			said := cli.OneLine(t.Answer)
			if t.Failed != "" {
				said = a.Out.Red("failed: " + cli.OneLine(t.Failed))
			}
			rows = append(rows, []string{t.Name, said})
		}
		a.Out.Table(rows)
	}
	if failed {
		return cli.Silent(cli.ExitFailed)
	}
	return nil
}

func (a *app) notifyPair(ctx context.Context, channel string) error {
	office, err := a.ownOffice()
	if err != nil {
		return err
	}
	p, err := office.NotifyPair(ctx, channel)
	return cli.Answer(a.App, p, err, func(p wire.NotifyPairing) error {
		a.Out.Line("Send this to %s by %s, from your private chat with it:\n", cli.OneLine(p.Bot),
			p.Until.Std().Local().Format("15:04"))
		a.Out.Line("    %s", a.Out.Bold("/pair "+p.Code))
		if p.Link != "" {
			a.Out.Line("\n"+
				"Or open %s and press Start. It works once.", cli.OneLine(p.Link))
		}
		return nil
	})
}

func (a *app) notifyUnpair(ctx context.Context, channel string) error {
	office, err := a.ownOffice()
	if err != nil {
		return err
	}
	return cli.Answer(a.App, wire.NotifyPair{Channel: channel}, office.NotifyUnpair(ctx, channel),
		func(wire.NotifyPair) error {
			a.Out.Line("No chat is paired with %s any more.", channel)
			return nil
		})
}

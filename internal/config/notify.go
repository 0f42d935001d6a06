package config

import (
	"cmp"
	"net"
	netmail "net/mail"
	"net/netip"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Notify configures how the person is notified of mail when no page is visible. A channel is on if it has a section.
type Notify struct {
	Telling // defaults for all channels

	Desktop  *NotifyDesktop  `toml:"desktop"`
	Ntfy     *NotifyNtfy     `toml:"ntfy"`
	Telegram *NotifyTelegram `toml:"telegram"`
	Webhook  *NotifyWebhook  `toml:"webhook"`
	SMTP     *NotifySMTP     `toml:"smtp"`
	Command  *NotifyCommand  `toml:"command"`
}

// Telling is what a channel reports, and when.
type Telling struct {
	What        What   `toml:"what"`         // default DefaultWhat
	Quiet       Quiet  `toml:"quiet"`        // default: no quiet hours
	QuietUrgent *bool  `toml:"quiet_urgent"` // urgent mail is reported in quiet hours too
	Text        *bool  `toml:"text"`         // includes the first words; by default not for ntfy and Telegram
	URL         string `toml:"url"`          // where the person's browser finds the pages; "": no link
}

// NotifyDesktop shows notifications on the desktop of this machine.
type NotifyDesktop struct{ Telling }

// NotifyNtfy publishes to a topic of an ntfy server (https://ntfy.sh).
type NotifyNtfy struct {
	Telling
	Server string   `toml:"server"` // default DefaultNtfy
	Topic  string   `toml:"topic"`
	Token  Password `toml:"token"` // an access token that may write to Topic and read ReplyTopic
	// Answers puts the options of a question on buttons. Anyone who can read the topic can press them.
	Answers    bool     `toml:"answers"`
	ReplyTopic string   `toml:"reply_topic"` // where the buttons write; default: one that cannot be guessed
	ReplyToken Password `toml:"reply_token"` // sent with the buttons; it should allow only writing there
}

// NotifyTelegram writes to the person through a bot of Telegram (https://core.telegram.org/bots).
type NotifyTelegram struct {
	Telling
	Server    string   `toml:"server"`     // default DefaultTelegram
	Token     Password `toml:"token"`      // of the bot
	TokenFile string   `toml:"token_file"` // its first line is the token
	Answers   bool     `toml:"answers"`    // questions can be answered by buttons and replies
}

// NotifyWebhook makes a signed POST.
type NotifyWebhook struct {
	Telling
	Webhook string   `toml:"webhook"`
	Secret  Secret   `toml:"secret"`
	Timeout Duration `toml:"timeout"` // default DefaultWakeTimeout, as in NotifyCommand
}

// NotifySMTP sends mail through a server.
type NotifySMTP struct {
	Telling
	Host             string   `toml:"host"`
	Port             int      `toml:"port"` // default: 587 with STARTTLS, 465 with TLS, 25 with neither
	TLS              string   `toml:"tls"`  // SMTPStartTLS, the default, SMTPTLS or SMTPNone
	User             string   `toml:"user"`
	PasswordFile     string   `toml:"password_file"`     // its first line
	PasswordVariable string   `toml:"password_variable"` // in the post office's environment
	From             string   `toml:"from"`
	To               []string `toml:"to"`
}

// NotifyCommand runs a command without a shell.
type NotifyCommand struct {
	Telling
	Exec    []string `toml:"exec"`
	Timeout Duration `toml:"timeout"`
}

// channel is a possible channel.
type channel struct {
	name    string
	on      bool
	section interface { // if it is on
		telling() Telling
		check(section string) error // what is wrong with its own keys
		rows() []row                // of its own keys
	}
}

// channels returns all possible channels, in the order of print.
func (n *Notify) channels() []channel {
	return []channel{
		{"desktop", n.Desktop != nil, n.Desktop}, {"ntfy", n.Ntfy != nil, n.Ntfy},
		{"telegram", n.Telegram != nil, n.Telegram},
		{"webhook", n.Webhook != nil, n.Webhook}, {"smtp", n.SMTP != nil, n.SMTP},
		{"command", n.Command != nil, n.Command},
	}
}

// NotifyChannels lists all possible channels.
func NotifyChannels() (names []string) {
	for _, c := range (&Notify{}).channels() {
		names = append(names, c.name)
	}
	return names
}

// NotifyChats lists the possible channels that are chats, which are paired with the person's.
func NotifyChats() []string { return []string{"telegram"} }

// On lists the channels that are on.
func (n *Notify) On() (names []string) {
	for _, c := range n.channels() {
		if c.on {
			names = append(names, c.name)
		}
	}
	return names
}

// Values of TLS of NotifySMTP.
const (
	SMTPStartTLS = "starttls"
	SMTPTLS      = "tls"
	SMTPNone     = "none" // only to a server on this machine
)

// Defaults of channels.
const (
	DefaultWhat     = "questions,urgent"
	DefaultNtfy     = "https://ntfy.sh"
	DefaultTelegram = "https://api.telegram.org"
)

// What is a list of the kinds of mail to report: "questions", "urgent", or "all".
type What string

// Wants reports whether to report mail that asks something, or is urgent.
func (w What) Wants(asks, urgent bool) bool {
	told := map[string]bool{"all": true, "questions": asks, "urgent": urgent}
	return slices.ContainsFunc(w.kinds(), func(kind string) bool { return told[kind] })
}

func (w What) kinds() []string {
	kinds := strings.Split(cmp.Or(string(w), DefaultWhat), ",")
	for i, k := range kinds {
		kinds[i] = strings.TrimSpace(k)
	}
	return kinds
}

func (w What) check() bool {
	return !slices.ContainsFunc(w.kinds(), func(kind string) bool {
		return !slices.Contains([]string{"questions", "urgent", "all"}, kind)
	})
}

// Quiet is a span of the day, like "22:00-07:30", in which the person is left alone, by the clock of this machine.
// "none" cancels [notify]'s value for all channels.
type Quiet string

// NoQuiet means no quiet hours.
const NoQuiet Quiet = "none"

// times returns when the span begins and ends, in minutes of the day.
func (q Quiet) times() (from, to int, ok bool) {
	a, b, both := strings.Cut(string(q), "-")
	begin, err1 := time.Parse("15:04", strings.TrimSpace(a))
	end, err2 := time.Parse("15:04", strings.TrimSpace(b))
	if !both || err1 != nil || err2 != nil {
		return 0, 0, false
	}
	from, to = begin.Hour()*60+begin.Minute(), end.Hour()*60+end.Minute()
	return from, to, from != to
}

// Ends returns the end of the quiet hours that contain t, in the zone of t. ok is false if none do.
func (q Quiet) Ends(t time.Time) (end time.Time, ok bool) {
	begin, end, ok := q.Next(t)
	return end, ok && !begin.After(t)
}

// Next returns the quiet hours that contain t, or else the next ones. ok is false if there are none.
func (q Quiet) Next(t time.Time) (begin, end time.Time, ok bool) {
	from, to, set := q.times()
	at := func(day, minute int) time.Time {
		return time.Date(t.Year(), t.Month(), t.Day()+day, 0, minute, 0, 0, t.Location())
	}
	for day := -1; set && !t.Before(end); day++ { // yesterday's may last until now
		begin, end = at(day, from), at(day, to)
		if to < from {
			end = at(day+1, to)
		}
	}
	return begin, end, set
}

// Over returns the settings of a channel whose own section is own.
func (t Telling) Over(own Telling) Telling {
	out := over(t, own)
	out.URL = strings.TrimSuffix(out.URL, "/")
	return out
}

// isNtfyTopic reports whether text is a valid topic for an ntfy server.
func isNtfyTopic(text string) bool {
	return regexp.MustCompile(`^[-_A-Za-z0-9]{1,64}$`).MatchString(text)
}

// check returns what is wrong with [notify].
func (n *Notify) check() error {
	err := n.Telling.checkTelling("notify")
	for _, c := range n.channels() {
		if err == nil && c.on {
			t := c.section.telling()
			err = cmp.Or(c.section.check("notify."+c.name), t.checkTelling("notify."+c.name))
		}
	}
	return err
}

func (t Telling) telling() Telling { return t }

func (t *Telling) checkTelling(section string) error {
	_, _, span := t.Quiet.times()
	u, ok := address(t.URL, "http", "https")
	switch {
	case !t.What.check():
		return bad(section, "what is %q; list questions and urgent, or write all", t.What)
	case t.Quiet != "" && t.Quiet != NoQuiet && !span:
		return bad(section, "quiet is %q; write a time span, like \"22:00-07:30\", or \"none\"", t.Quiet)
	case t.URL != "" && (!ok || u.User != nil || u.RawQuery+u.Fragment+strings.Trim(u.Path, "/") != ""):
		return bad(section, "url is %q; write the address of the pages for your browser, like "+
			"https://box.example:8765",
			t.URL)
	}
	return nil
}

func (*NotifyDesktop) check(string) error { return nil }

func (*NotifyDesktop) rows() []row { return nil }

func (c *NotifyNtfy) check(section string) error {
	switch {
	case c.Server != "" && (!isWebhook(c.Server) || strings.ContainsAny(c.Server, "?#")):
		return bad(section, "server must be an http or https address without a user")
	case !isNtfyTopic(c.Topic):
		return bad(section,
			"topic is %q; use 1 to 64 letters, digits, - and _. On a public server it is a password; make one "+
				"with: echo pennypost-$(openssl rand -hex 12)", c.Topic)
	case c.ReplyTopic != "" && (!isNtfyTopic(c.ReplyTopic) || c.ReplyTopic == c.Topic):
		return bad(section, "reply_topic is %q; use 1 to 64 letters, digits, - and _, and not the topic",
			c.ReplyTopic)
	case !c.Answers && (c.ReplyTopic != "" || c.ReplyToken != ""):
		return bad(section, "has a reply_topic or reply_token, but not answers = true, which uses them")
	}
	return nil
}

func (c *NotifyNtfy) rows() []row {
	return []row{
		{name: "server", value: cmp.Or(c.Server, DefaultNtfy), about: "an ntfy server",
			note: "topic and tokens are not printed: with them, anyone can read the notifications"},
		{name: "answers", value: c.Answers, about: "options of a question as buttons"},
	}
}

// IsTelegramToken reports whether text has the form of a bot's token: the bot's number, and a secret.
func IsTelegramToken(text string) bool {
	return regexp.MustCompile(`^[0-9]{1,20}:[A-Za-z0-9_-]{20,100}$`).MatchString(text)
}

func (c *NotifyTelegram) check(section string) error {
	u, ok := address(c.Server, "http", "https")
	switch {
	case c.Server != "" && (!ok || u.User != nil || u.RawQuery+u.Fragment+strings.Trim(u.Path, "/") != ""):
		return bad(section, "server must be an address like %s", DefaultTelegram)
	case c.Server != "" && u.Scheme == "http" && !onThisMachine(u.Hostname()):
		return bad(section, "server is not this machine and has no https: the token would be readable on its way")
	case (c.Token == "") == (c.TokenFile == ""):
		return bad(section, "needs either a token, which @BotFather gives for a bot, or a token_file")
	case c.Token != "" && !IsTelegramToken(string(c.Token)):
		return bad(section, "token is not a bot's token: @BotFather gives one, like 123456789:AAF…")
	case c.TokenFile != "" && !filepath.IsAbs(c.TokenFile):
		return bad(section, "token_file is %q; write an absolute path", c.TokenFile)
	}
	return nil
}

func (c *NotifyTelegram) rows() []row {
	return []row{
		{name: "server", value: cmp.Or(c.Server, DefaultTelegram), about: "address of the Bot API",
			note: "the token is not printed: with it, anyone can act as the bot"},
		{name: "token_file", value: given(c.TokenFile), about: "its first line is the token"},
		{name: "answers", value: c.Answers, about: "answer questions by buttons and replies"},
	}
}

func (c *NotifyWebhook) check(section string) error {
	if c.Webhook == "" {
		if c.URL != "" {
			return bad(section, "has url, the address of the pages for your browser, but no webhook; write "+
				"webhook = %q", c.URL)
		}
		return bad(section, "has no webhook; write its address: webhook = \"https://…\"")
	}
	return cmp.Or(checkWebhook(section, c.Webhook, c.Secret), checkTimeout(section, c.Timeout))
}

func (c *NotifyWebhook) rows() []row {
	return []row{
		{name: "webhook", value: c.Webhook, about: "signed POST (Standard Webhooks)", note: secretSet},
		{name: "timeout", value: cmp.Or(c.Timeout, DefaultWakeTimeout), about: "time limit for the server"},
	}
}

func (c *NotifySMTP) check(section string) error {
	unknown := func(address string) bool {
		_, err := netmail.ParseAddress(address)
		return err != nil
	}
	switch {
	case c.Host == "" || strings.ContainsAny(c.Host, " /:@") && net.ParseIP(c.Host) == nil:
		return bad(section, "host is %q; write the name of a mail server, like mail.example.org", c.Host)
	case c.Port < 0 || c.Port > 65535:
		return bad(section, "port is %d; use 1 to 65535", c.Port)
	case c.TLS != "" && !slices.Contains([]string{SMTPStartTLS, SMTPTLS, SMTPNone}, c.TLS):
		return bad(section, "tls is %q; it can be %q, %q or %q", c.TLS, SMTPStartTLS, SMTPTLS, SMTPNone)
	case c.TLS == SMTPNone && !onThisMachine(c.Host):
		return bad(section, "tls is \"none\", and %s is not this machine; mail would be readable on its way",
			c.Host)
	case unknown(c.From):
		return bad(section, "from is %q, which is not a mail address", c.From)
	case len(c.To) == 0 || slices.ContainsFunc(c.To, unknown):
		return bad(section, "to is %q; list mail addresses, like to = [\"me@example.org\"]", c.To)
	}
	return c.checkPassword(section)
}

// checkPassword returns what is wrong with the credentials for the server.
func (c *NotifySMTP) checkPassword(section string) error {
	switch {
	case c.PasswordFile != "" && c.PasswordVariable != "":
		return bad(section, "has both password_file and password_variable; use one")
	case (c.PasswordFile != "" || c.PasswordVariable != "") != (c.User != ""):
		return bad(section, "needs both a user and a password_file or password_variable, or neither")
	case c.PasswordFile != "" && !filepath.IsAbs(c.PasswordFile):
		return bad(section, "password_file is %q; write an absolute path", c.PasswordFile)
	}
	return nil
}

func onThisMachine(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

func (c *NotifySMTP) rows() []row {
	return []row{
		{name: "host", value: c.Host, about: "a mail server"},
		{name: "port", value: c.PortOrDefault()},
		{name: "tls", value: cmp.Or(c.TLS, SMTPStartTLS),
			about: "starttls, tls, or none for a server on this machine"},
		{name: "user", value: given(c.User)},
		{name: "password_file", value: given(c.PasswordFile), about: "its first line is the password"},
		{name: "password_variable", value: given(c.PasswordVariable),
			about: "variable of the post office's environment with the password"},
		{name: "from", value: c.From},
		{name: "to", value: c.To},
	}
}

func (c *NotifyCommand) check(section string) error {
	if noCommand(c.Exec) {
		return bad(section, "exec is not a command; write it like exec = [\"my-pager\", \"{subject}\"]")
	}
	return checkTimeout(section, c.Timeout)
}

func (c *NotifyCommand) rows() []row {
	return []row{
		{name: "exec", value: c.Exec,
			about: "run without a shell; {subject}, {text}, {from}, {room}, {url}, {count} are replaced"},
		{name: "timeout", value: cmp.Or(c.Timeout, DefaultWakeTimeout), about: "time limit for the command"},
	}
}

// print writes [notify], without secrets. Sections that are off are comments, so that a file made from the output
// turns nothing on.
func (n *Notify) print(b *strings.Builder) {
	b.WriteString("\n" +
		"# Notifications of mail when you are not looking at the pages (docs/notify.md). Without a section\n" +
		"# [notify.desktop], [notify.ntfy], [notify.telegram], [notify.webhook], [notify.smtp] or\n" +
		"# [notify.command] there are none.\n")
	section(b, "notify", n.Telling.told()...)
	for _, c := range n.channels() {
		if c.on {
			section(b, "notify."+c.name, append(c.section.rows(), n.Over(c.section.telling()).told()...)...)
		}
	}
}

// told returns the rows of a channel's Telling.
func (t Telling) told() []row {
	var text any
	if t.Text != nil {
		text = *t.Text
	}
	return []row{
		{name: "what", value: cmp.Or(string(t.What), DefaultWhat), about: `"questions,urgent" or "all"`},
		{name: "quiet", value: cmp.Or(string(t.Quiet), string(NoQuiet)),
			about: `like "22:00-07:30": a digest at its end`},
		{name: "quiet_urgent", value: t.QuietUrgent != nil && *t.QuietUrgent,
			about: "notify of urgent mail in quiet hours"},
		{name: "text", value: text, about: "include the first words",
			absent: "text: include the first words; by default on all channels but ntfy and telegram"},
		{name: "url", value: given(t.URL), about: "address of the pages for your browser",
			absent: "url: address of the pages for your browser, for a link to the message"},
	}
}

// PortOrDefault returns the port, or the usual one.
func (c *NotifySMTP) PortOrDefault() int {
	switch {
	case c.Port != 0:
		return c.Port
	case c.TLS == SMTPTLS:
		return 465
	case c.TLS == SMTPNone:
		return 25
	}
	return 587
}

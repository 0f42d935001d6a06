package config

import (
	"fmt"
	"net"
	netmail "net/mail"
	"net/netip"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"pennypost/internal/mail"
)

// Notify says how the person is told of mail when no page is in sight. A channel is on if it has a section.
type Notify struct {
	Telling // of every channel that does not say otherwise

	Desktop *NotifyDesktop `toml:"desktop"`
	Ntfy    *NotifyNtfy    `toml:"ntfy"`
	Webhook *NotifyWebhook `toml:"webhook"`
	SMTP    *NotifySMTP    `toml:"smtp"`
	Command *NotifyCommand `toml:"command"`
}

// Telling is what a channel tells, and when.
type Telling struct {
	What        What   `toml:"what"`         // default DefaultWhat
	Quiet       Quiet  `toml:"quiet"`        // default: no quiet hours
	QuietUrgent *bool  `toml:"quiet_urgent"` // urgent mail is told in quiet hours too
	Text        *bool  `toml:"text"`         // the first words go along; by default not to ntfy
	URL         string `toml:"url"`          // where the person's browser finds the pages; "": no link goes along
}

// NotifyDesktop shows notifications on the desktop of this machine.
type NotifyDesktop struct{ Telling }

// NotifyNtfy publishes to a topic of an ntfy server (https://ntfy.sh).
type NotifyNtfy struct {
	Telling
	Server string   `toml:"server"` // default DefaultNtfy
	Topic  string   `toml:"topic"`
	Token  Password `toml:"token"` // an access token that may write to Topic and read ReplyTopic
	// Answers puts the options of a question on buttons. Whoever reads the topic can press them.
	Answers    bool     `toml:"answers"`
	ReplyTopic string   `toml:"reply_topic"` // where the buttons write; default: one that cannot be guessed
	ReplyToken Password `toml:"reply_token"` // goes along with the buttons; it should open nothing but writing there
}

// NotifyWebhook makes a signed POST.
type NotifyWebhook struct {
	Telling
	Webhook string   `toml:"webhook"`
	Secret  Secret   `toml:"secret"`
	Timeout Duration `toml:"timeout"` // default DefaultWakeTimeout, as of NotifyCommand
}

// NotifySMTP sends mail by a server.
type NotifySMTP struct {
	Telling
	Host             string   `toml:"host"`
	Port             int      `toml:"port"` // default: 587 with STARTTLS, 465 with TLS, 25 with neither
	TLS              string   `toml:"tls"`  // SMTPStartTLS, the default, SMTPTLS or SMTPNone
	User             string   `toml:"user"`
	PasswordFile     string   `toml:"password_file"`     // its first line
	PasswordVariable string   `toml:"password_variable"` // of the post office's environment
	From             string   `toml:"from"`
	To               []string `toml:"to"`
}

// NotifyCommand runs a command without a shell.
type NotifyCommand struct {
	Telling
	Exec    []string `toml:"exec"`
	Timeout Duration `toml:"timeout"`
}

// NotifyChannels lists the channels that there can be, in the order in which they stand.
func NotifyChannels() []string { return []string{"desktop", "ntfy", "webhook", "smtp", "command"} }

// On lists the channels that are on.
func (n *Notify) On() []string {
	var on []string
	for i, is := range []bool{n.Desktop != nil, n.Ntfy != nil, n.Webhook != nil, n.SMTP != nil, n.Command != nil} {
		if is {
			on = append(on, NotifyChannels()[i])
		}
	}
	return on
}

// What TLS of NotifySMTP may be.
const (
	SMTPStartTLS = "starttls"
	SMTPTLS      = "tls"
	SMTPNone     = "none" // to a server on this machine only
)

// Defaults of channels.
const (
	DefaultWhat = "questions,urgent"
	DefaultNtfy = "https://ntfy.sh"
)

// What is a list of the kinds of mail that are told: "questions", "urgent", or "all".
type What string

// Wants reports whether mail is told that asks something, or is urgent.
func (w What) Wants(asks, urgent bool) bool {
	for kind := range strings.SplitSeq(orText(string(w), DefaultWhat), ",") {
		switch strings.TrimSpace(kind) {
		case "all":
			return true
		case "questions":
			if asks {
				return true
			}
		case "urgent":
			if urgent {
				return true
			}
		}
	}
	return false
}

func (w What) check() bool {
	for kind := range strings.SplitSeq(orText(string(w), DefaultWhat), ",") {
		if !slices.Contains([]string{"questions", "urgent", "all"}, strings.TrimSpace(kind)) {
			return false
		}
	}
	return true
}

// Quiet is a span of the day, like "22:00-07:30", in which the person is left alone, by the clock of this machine.
// "none" takes away what [notify] says for all channels.
type Quiet string

// NoQuiet is no quiet hours.
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

// Ends returns when the quiet hours end in which t lies, in the zone of t. ok is false if it lies in none.
func (q Quiet) Ends(t time.Time) (end time.Time, ok bool) {
	begin, end, ok := q.Next(t)
	return end, ok && !begin.After(t)
}

// Next returns the quiet hours in which t lies, or else the next to come. ok is false if there are none.
func (q Quiet) Next(t time.Time) (begin, end time.Time, ok bool) {
	from, to, set := q.times()
	at := func(day, minute int) time.Time {
		return time.Date(t.Year(), t.Month(), t.Day()+day, 0, minute, 0, 0, t.Location())
	}
	for day := -1; set && !t.Before(end); day++ { // those of yesterday may last until now
		begin, end = at(day, from), at(day, to)
		if to < from {
			end = at(day+1, to)
		}
	}
	return begin, end, set
}

// Over returns what a channel tells whose own section says own.
func (t Telling) Over(own Telling) Telling {
	out := Telling{
		What: What(orText(string(own.What), string(t.What))), Quiet: Quiet(orText(string(own.Quiet), string(t.Quiet))),
		QuietUrgent: t.QuietUrgent, Text: t.Text, URL: strings.TrimSuffix(orText(own.URL, t.URL), "/"),
	}
	if own.QuietUrgent != nil {
		out.QuietUrgent = own.QuietUrgent
	}
	if own.Text != nil {
		out.Text = own.Text
	}
	return out
}

// isNtfyTopic reports whether an ntfy server takes text for a topic.
func isNtfyTopic(text string) bool {
	return regexp.MustCompile(`^[-_A-Za-z0-9]{1,64}$`).MatchString(text)
}

// check returns what is wrong with [notify].
func (n *Notify) check() error {
	err := n.Telling.check("notify")
	if c := n.Desktop; c != nil && err == nil {
		err = c.Telling.check("notify.desktop")
	}
	if c := n.Ntfy; c != nil && err == nil {
		err = c.check("notify.ntfy")
	}
	if c := n.Webhook; c != nil && err == nil {
		err = c.check("notify.webhook")
	}
	if c := n.SMTP; c != nil && err == nil {
		err = c.check("notify.smtp")
	}
	if c := n.Command; c != nil && err == nil {
		err = c.check("notify.command")
	}
	return err
}

func badNotify(section, format string, args ...any) error {
	return mail.Errorf(mail.Invalid, "[%s] %s", section, fmt.Sprintf(format, args...))
}

func (t *Telling) check(section string) error {
	_, _, span := t.Quiet.times()
	u, err := url.Parse(t.URL)
	switch {
	case !t.What.check():
		return badNotify(section, "what is %q; list questions and urgent, or write all", t.What)
	case t.Quiet != "" && t.Quiet != NoQuiet && !span:
		return badNotify(section, "quiet is %q; write a span of the day, like \"22:00-07:30\", or \"none\"", t.Quiet)
	case t.URL != "" && (err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil ||
		u.RawQuery != "" || u.Fragment != "" || strings.Trim(u.Path, "/") != ""):
		return badNotify(section, "url is %q; write where your browser finds the pages, like "+
			"https://box.example:8765", t.URL)
	}
	return nil
}

func (c *NotifyNtfy) check(section string) error {
	switch {
	case c.Server != "" && (!isWebhook(c.Server) || strings.ContainsAny(c.Server, "?#")):
		return badNotify(section, "server is not an http or https address without a user")
	case !isNtfyTopic(c.Topic):
		return badNotify(section,
			"topic is %q; it has 1 to 64 letters, digits, - and _. On a server that anybody can "+
				"read, it is a password; make one with: echo pennypost-$(openssl rand -hex 12)", c.Topic)
	case c.ReplyTopic != "" && (!isNtfyTopic(c.ReplyTopic) || c.ReplyTopic == c.Topic):
		return badNotify(section, "reply_topic is %q; it has 1 to 64 letters, digits, - and _, and is not topic",
			c.ReplyTopic)
	case !c.Answers && (c.ReplyTopic != "" || c.ReplyToken != ""):
		return badNotify(section, "has a reply_topic or reply_token, and no answers = true that uses it")
	}
	return c.Telling.check(section)
}

func (c *NotifyWebhook) check(section string) error {
	switch {
	case !isWebhook(c.Webhook):
		return badNotify(section, "webhook is not an http or https address without a user")
	case c.Secret == nil:
		return badNotify(section, "has a webhook and no secret; make one with: echo whsec_$(openssl rand -base64 32)")
	case c.Timeout < 0 || c.Timeout > maxWakeTimeout:
		return badNotify(section, "timeout is %s; use 1ms to %s", c.Timeout, maxWakeTimeout)
	}
	return c.Telling.check(section)
}

func (c *NotifySMTP) check(section string) error {
	bad := func(address string) bool {
		_, err := netmail.ParseAddress(address)
		return err != nil
	}
	switch {
	case c.Host == "" || strings.ContainsAny(c.Host, " /:@") && net.ParseIP(c.Host) == nil:
		return badNotify(section, "host is %q; write the name of a mail server, like mail.example.org", c.Host)
	case c.Port < 0 || c.Port > 65535:
		return badNotify(section, "port is %d; use 1 to 65535", c.Port)
	case c.TLS != "" && !slices.Contains([]string{SMTPStartTLS, SMTPTLS, SMTPNone}, c.TLS):
		return badNotify(section, "tls is %q; it can be %q, %q or %q", c.TLS, SMTPStartTLS, SMTPTLS, SMTPNone)
	case c.TLS == SMTPNone && !onThisMachine(c.Host):
		return badNotify(section, "tls is \"none\", and %s is not this machine; mail would be readable on its way",
			c.Host)
	case bad(c.From):
		return badNotify(section, "from is %q, which is no mail address", c.From)
	case len(c.To) == 0 || slices.ContainsFunc(c.To, bad):
		return badNotify(section, "to is %q; list mail addresses, like to = [\"me@example.org\"]", c.To)
	case c.PasswordFile != "" && c.PasswordVariable != "":
		return badNotify(section, "has both password_file and password_variable; keep one")
	case (c.PasswordFile != "" || c.PasswordVariable != "") != (c.User != ""):
		return badNotify(section, "needs both a user, and a password_file or password_variable, or neither")
	case c.PasswordFile != "" && !filepath.IsAbs(c.PasswordFile):
		return badNotify(section, "password_file is %q; write the whole path", c.PasswordFile)
	}
	return c.Telling.check(section)
}

func onThisMachine(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

func (c *NotifyCommand) check(section string) error {
	switch {
	case len(c.Exec) == 0 || c.Exec[0] == "" || strings.Contains(strings.Join(c.Exec, ""), "\x00"):
		return badNotify(section, "exec is no command; write it like exec = [\"my-pager\", \"{subject}\"]")
	case c.Timeout < 0 || c.Timeout > maxWakeTimeout:
		return badNotify(section, "timeout is %s; use 1ms to %s", c.Timeout, maxWakeTimeout)
	}
	return c.Telling.check(section)
}

// print writes [notify]. Secrets are not among what it writes. Sections that are off are comments, so that a file made
// of this turns nothing on.
func (n *Notify) print(b *strings.Builder) {
	b.WriteString("\n# How you are told of mail when you are not at the pages (docs/notify.md). Without a section\n" +
		"# [notify.desktop], [notify.ntfy], [notify.webhook], [notify.smtp] or [notify.command]: not at all.\n")
	b.WriteString("[notify]\n")
	printTelling(b, n.Telling)
	if n.Desktop != nil {
		b.WriteString("[notify.desktop]\n")
		printTelling(b, n.Telling.Over(n.Desktop.Telling))
	}
	if c := n.Ntfy; c != nil {
		b.WriteString("[notify.ntfy]\n")
		key(b, "server", quotedText(orText(c.Server, DefaultNtfy)), "an ntfy server")
		b.WriteString("# topic and tokens are not printed: who has them reads what is told\n")
		key(b, "answers", strconv.FormatBool(c.Answers), "options of a question as buttons")
		printTelling(b, n.Telling.Over(c.Telling))
	}
	if c := n.Webhook; c != nil {
		b.WriteString("[notify.webhook]\n")
		key(b, "webhook", quotedText(c.Webhook), "signed POST (Standard Webhooks)")
		b.WriteString("# secret is set, and not printed\n")
		key(b, "timeout", quoted(c.Timeout, DefaultWakeTimeout), "the server is given up after so long")
		printTelling(b, n.Telling.Over(c.Telling))
	}
	if c := n.SMTP; c != nil {
		b.WriteString("[notify.smtp]\n")
		key(b, "host", quotedText(c.Host), "a mail server")
		key(b, "port", strconv.Itoa(c.PortOrDefault()), "")
		key(b, "tls", quotedText(orText(c.TLS, SMTPStartTLS)), "starttls, tls, or none for a server on this machine")
		for _, k := range []struct{ name, value, about string }{
			{"user", c.User, ""}, {"password_file", c.PasswordFile, "its first line is the password"},
			{"password_variable", c.PasswordVariable, "variable of the post office's environment with the password"},
		} {
			if k.value != "" {
				key(b, k.name, quotedText(k.value), k.about)
			}
		}
		key(b, "from", quotedText(c.From), "")
		key(b, "to", texts(c.To), "")
		printTelling(b, n.Telling.Over(c.Telling))
	}
	if c := n.Command; c != nil {
		b.WriteString("[notify.command]\n")
		key(b, "exec", texts(c.Exec),
			"run without a shell; {subject}, {text}, {from}, {room}, {url}, {count} are replaced")
		key(b, "timeout", quoted(c.Timeout, DefaultWakeTimeout), "the command is killed after so long")
		printTelling(b, n.Telling.Over(c.Telling))
	}
}

func printTelling(b *strings.Builder, t Telling) {
	key(b, "what", quotedText(orText(string(t.What), DefaultWhat)), `"questions,urgent" or "all"`)
	key(b, "quiet", quotedText(orText(string(t.Quiet), string(NoQuiet))), `like "22:00-07:30": a digest at its end`)
	key(b, "quiet_urgent", strconv.FormatBool(t.QuietUrgent != nil && *t.QuietUrgent),
		"urgent mail is told in quiet hours")
	if t.Text != nil {
		key(b, "text", strconv.FormatBool(*t.Text), "the first words go along")
	} else {
		b.WriteString("# text: whether the first words go along; by default to all channels but ntfy\n")
	}
	if t.URL != "" {
		key(b, "url", quotedText(t.URL), "where your browser finds the pages")
	} else {
		b.WriteString("# url: where your browser finds the pages, for a link to the letter\n")
	}
}

func texts(words []string) string {
	out := make([]string, 0, len(words))
	for _, w := range words {
		out = append(out, quotedText(w))
	}
	return "[" + strings.Join(out, ", ") + "]"
}

// PortOrDefault is the port, or the usual one.
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

package notify

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"strings"
	"time"

	"pennypost/internal/base/child"
	"pennypost/internal/base/webhook"
	"pennypost/internal/config"
)

// addChannels adds the channels of the configuration, named after their sections.
func (n *Notifier) addChannels() {
	cfg := &n.opts.Config
	env := config.WithoutAgent(os.Environ()) // a command inside a session may have started the post office
	if c := cfg.Desktop; c != nil {
		n.addLine("desktop", &Desktop{Env: desktopEnv(env)}, cfg.Over(c.Telling), true, false)
	}
	if c := cfg.Ntfy; c != nil {
		topic := c.ReplyTopic
		if topic == "" {
			mac := hmac.New(sha256.New, n.kept.Key)
			mac.Write([]byte("reply topic\x00" + c.Topic))
			topic = "pennypost-" + hex.EncodeToString(mac.Sum(nil)[:12])
		}
		server := strings.TrimSuffix(cmp.Or(c.Server, config.DefaultNtfy), "/")
		n.addLine("ntfy", NewNtfy(&Ntfy{Server: server, Topic: c.Topic, Token: string(c.Token), ReplyTopic: topic,
			ReplyToken: string(c.ReplyToken)}), cfg.Over(c.Telling), false, c.Answers)
	}
	if c := cfg.Telegram; c != nil {
		server := strings.TrimSuffix(cmp.Or(c.Server, config.DefaultTelegram), "/")
		n.addChat("telegram", NewTelegram(&Telegram{Server: server, Token: func() (string, error) {
			if c.TokenFile != "" {
				return firstLine("token", c.TokenFile)
			}
			return string(c.Token), nil
		}}), cfg.Over(c.Telling), c.Answers)
	}
	if c := cfg.Webhook; c != nil {
		to := webhook.New(c.Webhook, c.Secret, child.Timeout(time.Duration(c.Timeout)))
		n.addLine("webhook", &Webhook{to}, cfg.Over(c.Telling), true, false)
	}
	if c := cfg.SMTP; c != nil {
		n.addLine("smtp", &SMTP{Config: *c, Getenv: os.Getenv}, cfg.Over(c.Telling), true, false)
	}
	if c := cfg.Command; c != nil {
		n.addLine("command", &Command{Argv: c.Exec, Env: env, Dir: n.opts.Home, Timeout: time.Duration(c.Timeout)},
			cfg.Over(c.Telling), true, false)
	}
}

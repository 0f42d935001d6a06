package daemon

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"pennypost/internal/base/durable"
	"pennypost/internal/config"
	"pennypost/internal/mail"
	"pennypost/internal/office/gate"
	"pennypost/internal/room/mailroom"
)

// operatorPrefix begins the operator's token, so that scanners for leaked secrets can know it. It is not the prefix of
// an agent's.
const operatorPrefix = "pp-operator."

// loadToken returns the operator's token, which is made at the first start.
func loadToken(home config.Home) (string, error) {
	text, err := durable.ReadFile(home.Token())
	if errors.Is(err, fs.ErrNotExist) {
		token := operatorPrefix + rand.Text()
		return token, durable.WriteFile(home.Token(), []byte(token+"\n"), 0o600)
	}
	if err != nil {
		return "", fmt.Errorf("read the operator's token: %w", err)
	}
	token := strings.TrimSpace(string(text))
	if len(token) < len(operatorPrefix)+16 {
		return "", mail.Errorf(
			mail.Invalid,
			"%s holds no token. Remove the file; a new one is made at the next start",
			home.Token(),
		)
	}
	if err := os.Chmod(home.Token(), 0o600); err != nil {
		return "", fmt.Errorf("close the operator's token to others: %w", err)
	}
	return token, nil
}

// newGate returns the gate before an office.
func newGate(operatorToken string, cfg *config.Config, o *office, scripts *gate.Scripts, g *guests) *gate.Gate {
	return gate.New(gate.Options{
		Operator: operatorToken, Terminals: cfg.User.Terminals, Scripts: scripts, Agent: o.agentOf,
		Session: func(programs []string) mail.Name { return o.SessionIn(programs, "") },
		Machine: g.machine,
	})
}

// agentOf returns whose token of a room this is. The token names its room, which is opened only if it exists: a
// made-up token makes nothing. That a room exists can be told from how long the refusal takes, and is no secret from
// this machine.
func (o *office) agentOf(ctx context.Context, token string) (mail.Caller, error) {
	name, sum, ok := mailroom.ParseToken(token)
	if ok && o.far != nil {
		return o.far.Agent(ctx, token)
	}
	if !ok || !o.Exists(name) {
		return mail.Caller{}, mailroom.UnknownToken()
	}
	e, err := o.Borrow(ctx, name)
	if err != nil {
		return mail.Caller{}, err
	}
	defer o.GiveBack(e, name)
	agent, err := e.Room.CheckToken(ctx, sum)
	return mail.Caller{Name: agent, Room: name}, err
}

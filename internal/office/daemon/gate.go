package daemon

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"pennypost/internal/base/durable"
	"pennypost/internal/config"
	"pennypost/internal/mail"
	"pennypost/internal/office/caller"
	"pennypost/internal/office/gate"
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
func newGate(operatorToken string, cfg *config.Config, o *caller.Rooms, scripts *gate.Scripts, g *guests) *gate.Gate {
	return gate.New(gate.Options{
		Operator: operatorToken, Terminals: cfg.User.Terminals, Scripts: scripts, Agent: o.AgentOf,
		Session: func(programs []string) mail.Name { return o.SessionIn(programs, "") },
		Machine: g.machine,
	})
}

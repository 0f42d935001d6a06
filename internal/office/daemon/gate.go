package daemon

import (
	"crypto/rand"

	"pennypost/internal/base/kept"
	"pennypost/internal/config"
	"pennypost/internal/mail"
	"pennypost/internal/office/caller"
	"pennypost/internal/office/gate"
)

// operatorPrefix begins the operator's token, so that scanners for leaked secrets can recognise it. An agent's token
// has another prefix.
const operatorPrefix = "pp-operator."

// loadSecrets returns the operator's token and the name of the pages. The first start makes both.
func loadSecrets(home config.Home) (token, host string, err error) {
	token, err = kept.Word(home.Token(), "the operator's token", func() string { return operatorPrefix + rand.Text() },
		func(token string) bool { return len(token) >= len(operatorPrefix)+16 })
	if err == nil {
		host, err = kept.Word(home.Host(), "the host name of the pages", newHost, isHost)
	}
	if err != nil {
		err = mail.Errorf(mail.Invalid, "%w", err)
	}
	return token, host, err
}

// newGate returns the gate in front of an office.
func newGate(operatorToken string, cfg *config.Config, o *caller.Rooms, scripts *gate.Scripts, g *guests) *gate.Gate {
	return gate.New(gate.Options{
		Operator: operatorToken, Terminals: cfg.User.Terminals, Scripts: scripts, Agent: o.AgentOf,
		Session: func(programs []string) mail.Name { return o.Set.SessionIn(programs, "") },
		Machine: g.machine,
	})
}

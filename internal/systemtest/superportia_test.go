package systemtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"pennypost/internal/office/dialect/superportia/contracttest"
)

// portSession is an agent's session for the contract.
type portSession struct{ *agent }

func (s portSession) Tools() ([]string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	list, err := s.session.ListTools(ctx, nil)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	return names, nil
}

func (s portSession) Call(tool string, args []byte) ([]byte, error) {
	text, err := s.call(context.Background(), tool, json.RawMessage(args))
	return []byte(text), err
}

// port is a post office whose rooms are the fleets of the contract's cases, one each.
type port struct {
	*office
	daemon *daemon
	fleets atomic.Int64
}

func newPort(t *testing.T) *port {
	t.Helper()
	o := newOffice(t)
	return &port{office: o, daemon: o.mustServe(t, loopback)}
}

// fleet makes a room with identities.
func (p *port) fleet(t *testing.T, identities []byte) (room string) {
	t.Helper()
	room = fmt.Sprintf("fleet-%d", p.fleets.Add(1))
	file := filepath.Join(p.dir, room+".json")
	if err := os.WriteFile(file, identities, 0o600); err != nil {
		t.Fatal(err)
	}
	p.must(t, "superportia", "identities", "load", file, "--room", room)
	return room
}

// overStdio connects by "pennypost mcp"; env and flags say who it is.
func (p *port) overStdio(era string, env []string, flags ...string) (*agent, error) {
	own := *p.office
	own.env = env
	return own.agent(era, append([]string{"--dialect", "superportia"}, flags...)...)
}

func (p *port) overHTTP(t *testing.T, era, room, identity string) (*agent, error) {
	d := p.daemon.door(p.token(t, room, identity))
	return agentHTTP(era, p.daemon.HTTP+"/dialect/superportia/mcp", &http.Client{Transport: d})
}

func (p *port) token(t *testing.T, room, identity string) string {
	t.Helper()
	return strings.TrimSpace(p.must(t, "agents", "token", identity, "--room", room))
}

// remote connects by a process of another machine: its data directory is another one, and no post office runs there.
func (p *port) remote(t *testing.T, era, room, identity string) (*agent, error) {
	elsewhere := filepath.Join(p.root, "elsewhere")
	env := []string{"PENNYPOST_HOME=" + elsewhere, "PENNYPOST_TOKEN=" + p.token(t, room, identity)}
	a, err := p.overStdio(era, env, "--remote", p.daemon.HTTP)
	if _, missing := os.Stat(elsewhere); !errors.Is(missing, os.ErrNotExist) {
		t.Errorf("a session with a remote post office left something in %s", elsewhere)
	}
	return a, err
}

// TestSuperportia holds every way to the superportia dialect to its contract. What differs is how the n-th session of
// a case connects.
func TestSuperportia(t *testing.T) {
	t.Parallel()
	p := newPort(t)
	type way func(t *testing.T, n int, era, room, identity string) (*agent, error)
	as := func(_ *testing.T, _ int, era, room, identity string) (*agent, error) {
		return p.overStdio(era, nil, "--room", room, "--as", identity)
	}
	env := func(_ *testing.T, _ int, era, room, identity string) (*agent, error) {
		return p.overStdio(era, []string{"SP_AGENT_ID=" + identity, "PENNYPOST_ROOM=" + room})
	}
	web := func(t *testing.T, _ int, era, room, identity string) (*agent, error) {
		return p.overHTTP(t, era, room, identity)
	}
	remote := func(t *testing.T, _ int, era, room, identity string) (*agent, error) {
		return p.remote(t, era, room, identity)
	}
	mixed := func(t *testing.T, n int, era, room, identity string) (*agent, error) {
		return []way{as, web, remote, env}[n%4](t, n, era, room, identity)
	}
	for name, connect := range map[string]way{
		"stdio": as, "stdio SP_AGENT_ID": env, "HTTP": web, "stdio --remote": remote, "SP-02 stdio and HTTP": mixed,
	} {
		t.Run(name, func(t *testing.T) {
			contracttest.Run(t, func(t *testing.T, identities []byte) contracttest.Connect {
				room, n := p.fleet(t, identities), -1
				return func(t *testing.T, identity string) contracttest.Session {
					n++
					a, err := connect(t, n, eras()[n%2], room, identity)
					if err != nil {
						t.Fatal(err)
					}
					t.Cleanup(func() { a.session.Close() })
					return portSession{a}
				}
			})
		})
	}
}

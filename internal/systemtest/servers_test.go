package systemtest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"pennypost/internal/room/journal/jetstream/natstest"
)

// With PENNYPOST_TEST_JOURNAL=jetstream the post offices of scripts make their rooms on these NATS servers. A script
// about files has "[jetstream] skip". Nil: rooms are files, as by default.
var scriptServers *natstest.Cluster

// startScriptServers starts them, if they are wanted. Their power is never cut, so they need not sync.
func startScriptServers() (end func(), err error) {
	if os.Getenv("PENNYPOST_TEST_JOURNAL") != "jetstream" {
		return func() {}, nil
	}
	dir, err := os.MkdirTemp("", "pennypost-nats")
	if err != nil {
		return nil, err
	}
	if scriptServers, err = natstest.New(dir, 3, natstest.Options{Sync: "1m"}); err != nil {
		return nil, err
	}
	return func() {
		scriptServers.Stop()
		os.RemoveAll(dir)
	}, nil
}

var prefixes atomic.Int64

// useServers makes the post office of a script make its rooms on scriptServers, even with the script's own
// configuration.
func useServers(home, work string) error {
	if scriptServers == nil {
		return nil
	}
	text := fmt.Sprintf("\n[journal]\nkind = \"jetstream\"\nurls = [\"%s\"]\nprefix = \"script-%d\"\n",
		strings.Join(scriptServers.URLs(), `", "`), prefixes.Add(1))
	if err := os.MkdirAll(home, 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(home, "config.toml"), []byte(text), 0o600); err != nil {
		return err
	}
	own, err := os.OpenFile(filepath.Join(work, "config.toml"), os.O_WRONLY|os.O_APPEND, 0)
	if os.IsNotExist(err) {
		return nil
	} else if err != nil {
		return err
	}
	_, err = own.WriteString(text)
	return errors.Join(err, own.Close())
}

// Package ownserver finds, starts and talks to the process that runs the NATS server of this machine
// (pennypost-nats).
package ownserver

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"pennypost/internal/base/child"
	"pennypost/internal/base/durable"
	"pennypost/internal/base/jsonx"
	"pennypost/internal/base/pause"
	"pennypost/internal/base/versions"
	"pennypost/internal/config"
	"pennypost/internal/mail"
	"pennypost/internal/wire"
)

// Program is the program with the server.
const Program = "pennypost-nats"

const (
	startPatience = 15 * time.Second // the server reads its streams before it answers
	startPoll     = 5 * time.Millisecond
	maxAnswer     = 4 << 20
	maxLog        = 8 << 20 // after which the log continues in another file
)

// Listens reports whether the process is running.
func Listens(home config.Home) bool {
	conn, err := net.DialTimeout("unix", home.ServerSocket(), time.Second)
	if err != nil {
		return false
	}
	conn.Close()
	return true
}

// Wanted reports whether the process should run: this machine is in a cluster, and the person has not stopped it.
func Wanted(home config.Home) bool {
	c, err := config.LoadCluster(home)
	return err == nil && c != nil && !c.Stopped && !c.Removed
}

// Start starts the process, and waits until it answers. The process outlives the caller. If two are started at the
// same time, one survives.
func Start(ctx context.Context, home config.Home, environ []string) error {
	if Listens(home) {
		return nil
	}
	program, err := find()
	if err == nil {
		err = home.Create()
	}
	if err == nil {
		err = home.CheckSocket(true)
	}
	if err != nil {
		return err
	}
	if info, err := os.Stat(home.ServerLog()); err == nil && info.Size() > maxLog {
		_ = os.Rename(home.ServerLog(), home.ServerLog()+".1")
	}
	log, err := durable.OpenFile(home.ServerLog(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(program)
	cmd.Dir = "/"
	cmd.Env = append(config.WithoutAgent(environ), "PENNYPOST_HOME="+string(home))
	cmd.Stdout, cmd.Stderr = log, log
	child.Detach(cmd)
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	for !Listens(home) {
		select {
		case err := <-ended:
			if err != nil {
				return &mail.Error{Code: mail.Unavailable, Err: err, Msg: "the NATS server of this machine does " +
					"not start; see its log: " + home.ServerLog()}
			}
			ended = nil // another was there first
		case <-ctx.Done():
			return &mail.Error{Code: mail.Timeout, Err: ctx.Err(), Msg: "the NATS server of this machine has not " +
				"started in " + startPatience.String() + "; see its log: " + home.ServerLog()}
		case <-time.After(startPoll):
		}
	}
	return nil
}

// find returns the path of the program that stays valid across updates.
func find() (string, error) {
	path, beside, ok := versions.Find(Program)
	if !ok {
		return "", mail.Errorf(mail.Unavailable, "%s, the program of the NATS server, is neither in %s nor on "+
			"the PATH: install all programs of one release", Program, filepath.Dir(beside))
	}
	return versions.Stable(path), nil
}

// Tend restarts the process whenever it has ended, while Wanted returns true, until ctx ends.
func Tend(ctx context.Context, home config.Home, environ []string, failed func(error)) {
	for wait := time.Second; pause.For(ctx, wait); {
		wait = time.Second
		if !Wanted(home) || Listens(home) {
			continue
		}
		if err := Start(ctx, home, environ); err != nil && ctx.Err() == nil {
			failed(err)
			wait = 30 * time.Second
		}
	}
}

// Ask sends the process a question, and reads the answer into answer. It does not start the process.
func Ask(ctx context.Context, home config.Home, what string, question, answer any) error {
	text, err := jsonx.Marshal(question)
	if err != nil {
		return err
	}
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", home.ServerSocket())
	}}
	defer transport.CloseIdleConnections()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://server/"+what, bytes.NewReader(text))
	if err != nil {
		return err
	}
	res, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		return &mail.Error{Code: mail.Unavailable, Err: err,
			Msg: "the NATS server of this machine is not running, or does not answer: pennypost cluster start"}
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return &mail.Error{Code: mail.Unavailable, Err: err, Msg: "the NATS server of this machine ended during " +
			"the request"}
	}
	if res.StatusCode != http.StatusOK {
		var p wire.Problem
		if jsonx.Unmarshal(body, &p) != nil || p.Code == "" {
			return errors.New(strings.TrimSpace(cmp.Or(string(body), res.Status)))
		}
		return &mail.Error{Code: p.Code, Msg: p.Detail}
	}
	return jsonx.Unmarshal(body, answer)
}

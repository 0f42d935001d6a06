package main

import (
	"bytes"
	"fmt"
	"os/exec"
	"strings"

	"pennypost/bench/drive"
	"pennypost/internal/mail"
)

// commandClient is a system that runs a process for each call.
type commandClient struct {
	cannotRead
	send func(to, body string) *exec.Cmd
	look func() *exec.Cmd
}

func (c commandClient) Send(to, body string) error { return c.send(to, body).Run() }

func (c commandClient) Look() (int, error) {
	text, err := c.look().Output()
	return bytes.Count(text, []byte("sender0")), err
}

func startCLI(b *bench, _ string) (worker, error) { return b.door(false, "cli", useCLI) }

func startSharedCLI(b *bench, _ string) (worker, error) { return b.door(true, "cli", useCLI) }

func useCLI(o *office, name mail.Name, _ string) (drive.Client, error) {
	return commandClient{
		send: func(to, body string) *exec.Cmd {
			return o.command("send", "--as", string(name), "--to", to, "--body", body)
		},
		look: func() *exec.Cmd { return o.command("inbox", "--as", string(name)) },
	}, nil
}

// startAMQ is https://github.com/avivsinai/agent-message-queue, a Maildir with a command line.
func startAMQ(_ *bench, dir string) (worker, error) {
	path, err := exec.LookPath("amq")
	if err != nil {
		return nil, fmt.Errorf("amq %w (build it from its repository and put it on the PATH)", errAbsent)
	}
	agents := []string{"sender0"}
	for i := 1; i < 16; i++ {
		agents = append(agents, fmt.Sprint("sender", i))
	}
	agents = append(agents, mailboxes...)
	if out, err := exec.Command(path, "init", "--root", dir, "--agents", strings.Join(agents, ",")).
		CombinedOutput(); err != nil {
		return nil, fmt.Errorf("amq init: %w\n%s", err, out)
	}
	return inProcess{func(name string) (drive.Client, error) {
		return commandClient{
			send: func(to, body string) *exec.Cmd {
				return exec.Command(path, "send", "--root", dir, "--me", name, "--to", to, "--body", body)
			},
			look: func() *exec.Cmd { return exec.Command(path, "list", "--root", dir, "--me", name, "--new") },
		}, nil
	}, func() {}}, nil
}

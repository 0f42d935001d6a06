//go:build linux

package main

import (
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"
)

// client runs an agent's MCP server as its client does: below a program with its own session.
func client(program string, args []string) error {
	runtime.LockOSThread() // Pdeathsig depends on this thread
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, forwarded()...)
	cmd := &exec.Cmd{Path: program, Args: args, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		SysProcAttr: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}}
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() {
		for s := range signals {
			_ = cmd.Process.Signal(s)
		}
	}()
	if err := cmd.Wait(); cmd.ProcessState == nil {
		return err
	}
	endAs(cmd.ProcessState.Sys().(syscall.WaitStatus))
	return nil
}

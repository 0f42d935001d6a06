package gate

import (
	"os"
	"os/exec"
	"testing"

	"pennypost/internal/base/process"
)

// BenchmarkStanding is what it costs a command of the person to be known: once a connection.
func BenchmarkStanding(b *testing.B) {
	cmd := exec.Command("sh", "-c", "sh -c 'sleep 60; true'; true")
	if err := cmd.Start(); err != nil {
		b.Skip(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	for b.Loop() {
		_ = stand(cmd.Process.Pid, process.Tree(cmd.Process.Pid), nil)
	}
}

// BenchmarkProcessOfTCP is what it costs who shows a credential of the user over TCP: once a connection.
func BenchmarkProcessOfTCP(b *testing.B) {
	for b.Loop() {
		_ = holderOf("1")
	}
}

func BenchmarkTree(b *testing.B) {
	for b.Loop() {
		_ = process.Tree(os.Getppid())
	}
}

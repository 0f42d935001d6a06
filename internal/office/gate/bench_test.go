package gate

import (
	"os"
	"os/exec"
	"testing"

	"pennypost/internal/base/process"
)

// BenchmarkStanding measures the identification of a person's command: once per connection.
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

// BenchmarkProcessOfTCP measures the lookup for a credential of the user over TCP: once per connection.
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

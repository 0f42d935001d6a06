package natstest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"sync"

	"pennypost/internal/base/durable"
)

// Ports of servers are below the ephemeral ports, so that no connection takes a server's port while it is down. They
// come in blocks: one that a process of tests has locked is its own until it ends.
const (
	firstPort, endPort = 12000, 32000
	portsOfBlock       = 100
)

var ports struct {
	sync.Mutex
	next, end int // what is left of the block
	blocks    []*durable.Lock
}

// freeAddresses returns unused loopback addresses, which no other run of tests on this machine takes.
func freeAddresses(n int) (addrs []string, err error) {
	ports.Lock()
	defer ports.Unlock()
	for len(addrs) < n {
		if ports.next == ports.end {
			if err := lockBlock(); err != nil {
				return nil, err
			}
		}
		addr := fmt.Sprint("127.0.0.1:", ports.next)
		ports.next++
		if l, err := net.Listen("tcp", addr); err == nil { // else a program has it that is no test
			l.Close()
			addrs = append(addrs, addr)
		}
	}
	return addrs, nil
}

// lockBlock takes a block of ports that no living process of tests has.
func lockBlock() error {
	dir := filepath.Join(os.TempDir(), fmt.Sprint("pennypost-natstest-ports-", os.Getuid()))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	const blocks = (endPort - firstPort) / portsOfBlock
	for _, i := range rand.Perm(blocks) {
		lock, err := durable.TryLock(filepath.Join(dir, fmt.Sprint(i)))
		if errors.As(err, new(*durable.LockedError)) {
			continue
		}
		if err != nil {
			return err
		}
		ports.blocks = append(ports.blocks, lock)
		ports.next = firstPort + i*portsOfBlock
		ports.end = ports.next + portsOfBlock
		return nil
	}
	return errors.New("all ports for NATS servers are taken by other tests")
}

package config

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"pennypost/internal/mail"
)

// Home is the data directory of one post office, an absolute path. Only its owner can read it.
type Home string

// FindHome returns the data directory: $PENNYPOST_HOME, else $XDG_STATE_HOME/pennypost, else
// ~/.local/state/pennypost. It creates nothing.
func FindHome(getenv func(string) string) (Home, error) {
	if dir := getenv("PENNYPOST_HOME"); dir != "" {
		abs, err := filepath.Abs(dir)
		if err != nil {
			return "", mail.Errorf(mail.Invalid, "PENNYPOST_HOME is %q, which is not a usable path: %w", dir, err)
		}
		return Home(abs), nil
	}
	// The XDG base directory specification tells programs to ignore relative paths.
	if dir := getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return Home(filepath.Join(dir, "pennypost")), nil
	}
	home := getenv("HOME")
	if home == "" {
		home = getenv("USERPROFILE") // Windows
	}
	if !filepath.IsAbs(home) {
		return "", mail.Errorf(mail.Invalid,
			"no home directory: set PENNYPOST_HOME to the directory where Pennypost may keep its data")
	}
	return Home(filepath.Join(home, ".local", "state", "pennypost")), nil
}

// Create creates the data directory if it does not exist, and closes it to everyone but its owner.
func (h Home) Create() error {
	if err := os.MkdirAll(string(h), 0o700); err != nil {
		return fmt.Errorf("create the data directory: %w", err)
	}
	info, err := os.Stat(string(h))
	if err != nil {
		return fmt.Errorf("check the data directory: %w", err)
	}
	if info.Mode().Perm()&0o077 == 0 {
		return nil
	}
	if err := os.Chmod(string(h), 0o700); err != nil {
		return fmt.Errorf("close the data directory to others: %w", err)
	}
	return nil
}

func (h Home) file(name string) string { return filepath.Join(string(h), name) }

// Token is the file with the operator's token.
func (h Home) Token() string { return h.file("token") }

// Host is the file with the name under which browsers know the pages.
func (h Home) Host() string { return h.file("host") }

// TLS is the file with the post office's own certificate, and its key.
func (h Home) TLS() string { return h.file("tls.pem") }

// Sessions is the file with the browsers that are logged in to the pages.
func (h Home) Sessions() string { return h.file("sessions.json") }

// Joined is the file with the other machines that were let in.
func (h Home) Joined() string { return h.file("joined.json") }

// Scripts is the file with the credentials for scripts.
func (h Home) Scripts() string { return h.file("scripts.json") }

// Passphrase is the file for checking the person's passphrase.
func (h Home) Passphrase() string { return h.file("passphrase.json") }

// Doors is the file with the access data for the sessions of agents on this machine, secrets included.
func (h Home) Doors() string { return h.file("doors.json") }

// Turns is the file with the sessions in which agents were last woken over ACP.
func (h Home) Turns() string { return h.file("acp.json") }

// Machine is the file with the id that distinguishes this data directory from others on machines of the same name.
func (h Home) Machine() string { return h.file("machine") }

// Shown is the directory with the messages that terminals have displayed, which gives messages short numbers there.
func (h Home) Shown() string { return h.file("shown") }

// Screen is the file with the room that the full-screen view shows; empty or missing: all.
func (h Home) Screen() string { return h.file("screen") }

// Told is the file with the notifications to the person while no page was visible.
func (h Home) Told() string { return h.file("notify.json") }

// Teams is the file with the teams of Claude Code that were bridged automatically.
func (h Home) Teams() string { return h.file("teams.json") }

// Dialogs is the directory with the current questions of agents' clients. It is not part of backups.
func (h Home) Dialogs() string { return h.file("dialogs") }

// Outbox is the file with the mail that is kept here while the connection to its room is away.
func (h Home) Outbox() string { return h.file("outbox.jsonl") }

// Doubts is the file with failed sends that may have arrived nevertheless.
func (h Home) Doubts() string { return h.file("doubts.json") }

// Erased is the file with erased messages whose text may still be in the logs of NATS servers.
func (h Home) Erased() string { return h.file("erased.json") }

// A2A is the file with the receivers of push notifications about tasks over A2A, secrets included. It is not part of
// backups.
func (h Home) A2A() string { return h.file("a2a.json") }

// Events is the file with the addresses that receive events over MCP, secrets included. It is not part of backups.
func (h Home) Events() string { return h.file("events.json") }

// GitHub is the directory with the known state of pull requests and checks, and the progress of polling gh. It is not
// part of backups.
func (h Home) GitHub() string { return h.file("github") }

// File is the configuration file.
func (h Home) File() string { return h.file("config.toml") }

// Rooms is the directory of the rooms' directories.
func (h Home) Rooms() string { return h.file("rooms") }

// Removed is the directory for removed rooms.
func (h Home) Removed() string { return h.file("removed") }

// Lock is the file that the running post office holds locked.
func (h Home) Lock() string { return h.file("pennypost.lock") }

// StartLock is the file that a process holds locked while it starts a post office.
func (h Home) StartLock() string { return h.file("start.lock") }

// Log is the log of a post office that was started by a command instead of a person.
func (h Home) Log() string { return h.file("daemon.log") }

// maxSocketPath is the longest path of a Unix socket that every system accepts: macOS has room for 104 bytes and a
// NUL.
const maxSocketPath = 103

// Files returns the existing files and directories of a post office, without foreign ones beside them.
func (h Home) Files() (there []string) {
	ours := []string{h.Token(), h.Host(), h.TLS(), h.Sessions(), h.Joined(), h.Scripts(), h.Passphrase(), h.Doors(),
		h.Turns(), h.Machine(), h.Shown(), h.Screen(), h.Told(), h.Teams(), h.Dialogs(), h.Outbox(), h.Doubts(),
		h.Erased(), h.A2A(), h.Events(), h.GitHub(), h.File(), h.Rooms(), h.Removed(), h.Lock(), h.StartLock(),
		h.Log(), h.file("pennypost.sock"), h.Cluster(), h.ClusterKey(), h.MachineKey(), h.Admitted(),
		h.ClusterCodes(), h.Servers(), h.ServerLock(),
		h.ServerLog(), h.file("nats.sock")}
	for _, path := range ours {
		for _, suffix := range []string{"", ".1"} { // the log has an older part
			if _, err := os.Lstat(path + suffix); err == nil {
				there = append(there, path+suffix)
			}
		}
	}
	return there
}

// Socket is the path of the post office's Unix socket. If pennypost.sock in the data directory has too long a path
// for the system, the name is derived from the path's hash, in a directory of this user in /tmp. $TMPDIR is ignored:
// agents' clients and their owner have different ones.
func (h Home) Socket() string { return h.socket("pennypost.sock") }

func (h Home) socket(name string) string {
	path := h.file(name)
	if len(path) <= maxSocketPath {
		return path
	}
	sum := sha256.Sum256([]byte(h))
	short := hex.EncodeToString(sum[:8])
	if name != "pennypost.sock" {
		short += "-" + strings.TrimSuffix(name, ".sock")
	}
	return filepath.Join(shortDir(), short+".sock")
}

func shortDir() string { return "/tmp/pennypost-" + strconv.Itoa(os.Getuid()) }

// CheckSocket refuses a socket in a directory that another user could have created: anyone may create names in /tmp.
// With create, the directory is created first.
func (h Home) CheckSocket(create bool) error {
	dir := filepath.Dir(h.Socket())
	if dir != shortDir() {
		return nil
	}
	if create {
		if err := os.Mkdir(dir, 0o700); err != nil && !os.IsExist(err) {
			return fmt.Errorf("create a directory for the socket: %w", err)
		}
	}
	info, err := os.Lstat(dir)
	if os.IsNotExist(err) && !create {
		return nil // no post office listens there
	}
	if err != nil {
		return fmt.Errorf("check the directory of the socket: %w", err)
	}
	if !info.IsDir() || info.Mode().Perm() != 0o700 || !ownedByUs(info) {
		return mail.Errorf(mail.Unavailable, "%s is not a directory that only you can access, so the post office "+
			"does not use it. Remove it, or set PENNYPOST_HOME to a shorter path", dir)
	}
	return nil
}

package install

import (
	"os"
	"path/filepath"
	"strings"

	"pennypost/internal/base/durable"
	"pennypost/internal/mail"
)

// Unit describes the post office to the system's service manager.
type Unit struct {
	Path, Text string
	Manager    string    // the service manager's program
	Start      []Command // run once the file exists
	Stop       []Command // run before the file is removed
	Forget     []Command // run after the file was removed
	Look       []Command // show the service's state
}

// Command is a program with its arguments.
type Command []string

// String returns the command line for a shell.
func (c Command) String() string {
	words := make([]string, len(c))
	for i, w := range c {
		words[i] = shellWord("", w)
	}
	return strings.Join(words, " ")
}

// label is launchd's name for the post office.
const label = "org.pennypost.serve"

// Service returns the unit that runs the post office with its data at data. If named, the unit contains the data
// directory, because services do not get the person's environment.
func Service(o *Options, data string, named bool) (Unit, error) {
	if !named {
		data = ""
	}
	switch o.GOOS {
	case "linux":
		return systemd(o, data), nil
	case "darwin":
		return launchd(o, data), nil
	}
	return Unit{}, mail.Errorf(mail.Invalid,
		"services are supported on Linux with systemd and on macOS only; commands start a post office by themselves")
}

// hardening lists the restrictions on the post office as a systemd service, and on the programs that its doors run.
// It has all of systemd's options that need no namespace: under PrivateUsers=, which a user's services need for
// those, it cannot read other processes' variables, by which it knows agents. It has no UMask=, because bridged files
// are made for all who share them, and no RestrictNamespaces= or MemoryDenyWriteExecute=, because a door may run an
// agent, with its sandbox and in Node.
const hardening = `NoNewPrivileges=yes
SystemCallArchitectures=native
SystemCallFilter=~@clock @cpu-emulation @module @obsolete @raw-io @reboot @swap
SystemCallErrorNumber=EPERM
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
KeyringMode=private
`

func systemd(o *Options, data string) Unit {
	var b strings.Builder
	b.WriteString("[Unit]\nDescription=Pennypost, a post office for agents\n\n[Service]\n")
	b.WriteString("ExecStart=" + systemdWord(o.Binary) + " serve\n")
	if data != "" {
		b.WriteString("Environment=" + systemdWord("PENNYPOST_HOME="+data) + "\n")
	}
	// A post office that a command started may still run. Then this one ends and is retried, slowly enough for systemd
	// not to give up. KillMode=process: the server of a cluster outlives the post office that started it.
	b.WriteString("Restart=on-failure\nRestartSec=5\nKillMode=process\n" + hardening)
	b.WriteString("\n[Install]\nWantedBy=default.target\n")
	return Unit{
		Path: filepath.Join(o.xdgConfig(), "systemd", "user", "pennypost.service"), Text: b.String(),
		Manager: "systemctl",
		Start: []Command{{"systemctl", "--user", "daemon-reload"},
			{"systemctl", "--user", "enable", "--now", "pennypost.service"}},
		Stop:   []Command{{"systemctl", "--user", "disable", "--now", "pennypost.service"}},
		Forget: []Command{{"systemctl", "--user", "daemon-reload"}},
		Look:   []Command{{"systemctl", "--user", "status", "pennypost.service"}},
	}
}

// systemdWord quotes a word of a unit file (systemd.service(5), command lines; systemd.unit(5), specifiers).
func systemdWord(w string) string {
	w = strings.ReplaceAll(w, "%", "%%")
	if strings.ContainsAny(w, " \t\"'\\;") {
		w = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(w) + `"`
	}
	return w
}

func launchd(o *Options, data string) Unit {
	path := filepath.Join(o.Home, "Library", "LaunchAgents", label+".plist")
	var b strings.Builder
	b.WriteString(`<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
	<key>Label</key>
	<string>` + label + `</string>
	<key>ProgramArguments</key>
	<array>
		<string>` + xmlText(o.Binary) + `</string>
		<string>serve</string>
	</array>
`)
	if data != "" {
		b.WriteString("\t<key>EnvironmentVariables</key>\n\t<dict>\n\t\t<key>PENNYPOST_HOME</key>\n\t\t<string>" +
			xmlText(data) + "</string>\n\t</dict>\n")
	}
	b.WriteString(`	<key>RunAtLoad</key>
	<true/>
	<key>KeepAlive</key>
	<dict>
		<key>SuccessfulExit</key>
		<false/>
	</dict>
</dict>
</plist>
`)
	return Unit{
		Path: path, Text: b.String(), Manager: "launchctl",
		Start: []Command{{"launchctl", "load", "-w", path}}, Stop: []Command{{"launchctl", "unload", "-w", path}},
		Look: []Command{{"launchctl", "list", label}},
	}
}

func xmlText(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(s)
}

// Read returns the content of the unit's file, "" if there is none.
func (u *Unit) Read() (string, error) {
	text, err := read(u.Path)
	return string(text), err
}

// Write writes the file.
func (u *Unit) Write() error {
	if err := durable.MkdirAll(filepath.Dir(u.Path), 0o755); err != nil {
		return err
	}
	return durable.WriteFile(u.Path, []byte(u.Text), 0o644)
}

// Remove removes the file.
func (u *Unit) Remove() error { return os.Remove(u.Path) }

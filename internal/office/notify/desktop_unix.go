//go:build unix

package notify

import (
	"os"
	"slices"
	"strconv"
	"strings"
)

// desktopEnv adds the address of the user's session bus, which a post office started by a service manager or over
// ssh might not have.
func desktopEnv(env []string) []string {
	bus := "/run/user/" + strconv.Itoa(os.Getuid()) + "/bus"
	known := slices.ContainsFunc(env, func(v string) bool { return strings.HasPrefix(v, "DBUS_SESSION_BUS_ADDRESS=") })
	if _, err := os.Stat(bus); known || err != nil {
		return env
	}
	return append(env[:len(env):len(env)], "DBUS_SESSION_BUS_ADDRESS=unix:path="+bus)
}

//go:build unix

package notify

import (
	"os"
	"slices"
	"strconv"
	"strings"
)

// desktopEnv adds where the bus of the user's session is, which a post office that a service manager or a command
// inside of ssh started may not know.
func desktopEnv(env []string) []string {
	bus := "/run/user/" + strconv.Itoa(os.Getuid()) + "/bus"
	known := slices.ContainsFunc(env, func(v string) bool { return strings.HasPrefix(v, "DBUS_SESSION_BUS_ADDRESS=") })
	if _, err := os.Stat(bus); known || err != nil {
		return env
	}
	return append(env[:len(env):len(env)], "DBUS_SESSION_BUS_ADDRESS=unix:path="+bus)
}

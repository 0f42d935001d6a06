package command

import "testing"

// TestUnitOf: systemd restarts a post office only if it runs in the unit that pennypost service writes.
func TestUnitOf(t *testing.T) {
	for cgroup, want := range map[string]string{
		"0::/user.slice/user-1000.slice/user@1000.service/app.slice/pennypost.service\n": "pennypost.service",
		"0::/user.slice/user-1000.slice/session-2.scope\n":                               "",
		"0::/system.slice/not-pennypost.service\n":                                       "",
		"": "",
	} {
		if got := unitOf(cgroup); got != want {
			t.Errorf("unitOf(%q) = %q, want %q", cgroup, got, want)
		}
	}
}

package systemtest

import "testing"

// TestDoctorLeavesNothing: the post office of doctor's trial ends with doctor, even though the trial's hook has made
// doctor an agent's client there, which may not stop it.
func TestDoctorLeavesNothing(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	r := o.runWith("", []string{"TMPDIR=" + o.root}, "doctor")
	for _, p := range o.processes() {
		t.Errorf("left behind: %d %q", p.pid, p.args)
	}
	if t.Failed() {
		t.Logf("doctor: exit %d\n%s%s", r.code, r.stdout, r.stderr)
	}
}

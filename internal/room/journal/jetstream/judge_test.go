package jetstream

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"

	"pennypost/internal/mail"
)

// keptBy returns a leader's report of a stream. It hears the others whose number is not negative: the number is their
// lag in writes.
func keptBy(leader string, others map[string]int) *jetstream.ClusterInfo {
	ci := &jetstream.ClusterInfo{Leader: leader}
	for name, lag := range others {
		r := &jetstream.PeerInfo{Name: name, Current: lag == 0, Active: time.Second, Lag: uint64(max(lag, 0))}
		if lag < 0 {
			r.Active = 10 * time.Second
		}
		ci.Replicas = append(ci.Replicas, r)
	}
	return ci
}

// TestJudge checks how many servers may fail, and what is reported of the rooms, when rooms are on three of five
// servers.
func TestJudge(t *testing.T) {
	five := []Server{{Name: "a", Size: 5}, {Name: "b", Size: 5}, {Name: "c", Size: 5}, {Name: "d", Size: 5},
		{Name: "e", Size: 5}}
	list := keptBy("a", map[string]int{"b": 0, "c": 0})
	lab, web := keptBy("b", map[string]int{"c": 0, "d": 0}), keptBy("c", map[string]int{"d": 0, "e": 0})
	for _, tt := range []struct {
		name    string
		list    *jetstream.ClusterInfo
		rooms   map[string]*jetstream.ClusterInfo
		missing []string
		found   []Server // at the end, after all five
		want    string
		spare   int
	}{
		{"all there", list, map[string]*jetstream.ClusterInfo{"lab": lab, "web": web}, nil, five, "", 1},
		{"one of no room but of the list", keptBy("b", map[string]int{"a": -1, "c": 0}),
			map[string]*jetstream.ClusterInfo{"lab": lab, "web": web}, nil, five[1:], "silent a", 0},
		{"one of one room, by its leader", list,
			map[string]*jetstream.ClusterInfo{"lab": lab, "web": keptBy("c", map[string]int{"d": 0, "e": -1})}, nil,
			five[:4], "silent e", 0},
		{"two of one room", list,
			map[string]*jetstream.ClusterInfo{"lab": keptBy("b", map[string]int{"c": 0, "d": -1})}, []string{"web"},
			five[:3], "silent d,silent e,stopped", -1},
		{"no leader, though they are there", list, map[string]*jetstream.ClusterInfo{"lab": lab}, []string{"web"},
			five, "leaderless web", -1},
		{"one on one server", list, map[string]*jetstream.ClusterInfo{"lab": keptBy("b", nil)}, nil, five, "", 0},
	} {
		w := newWatch()
		now := time.Now()
		w.inspected(five, time.Time{}, "")
		w.saw(list, "a", now)
		w.listed(map[string]group{"lab": groupOf(lab, "a", now), "web": groupOf(web, "a", now)}, nil)
		w.saw(tt.list, "b", now)
		groups := make(map[string]group)
		for room, ci := range tt.rooms {
			groups[room] = groupOf(ci, "a", now)
		}
		w.listed(groups, tt.missing)
		w.inspected(tt.found, time.Time{}, "")
		h := w.judge(1)
		about := ""
		for _, d := range h.Degraded {
			if about != "" {
				about += ","
			}
			about += d.About
			if d.Fix == "" || d.Text == "" {
				t.Errorf("%s: nothing is said of %+v", tt.name, d)
			}
		}
		if about != tt.want || *h.MayFail != tt.spare || h.Unknown != 0 {
			t.Errorf("%s: %q, %d may fail, %d unknown; want %q, %d, 0", tt.name, about, *h.MayFail, h.Unknown, tt.want,
				tt.spare)
		}
	}
}

// TestJudgeWithoutMonitoring checks that servers whose state no one can report are called unknown, not up.
func TestJudgeWithoutMonitoring(t *testing.T) {
	w := newWatch()
	if h := w.judge(5); h.MayFail != nil || len(h.Servers) > 0 {
		t.Errorf("before anything is known: %+v", h)
	}
	w.saw(keptBy("a", map[string]int{"b": 0, "c": 0}), "a", time.Now())
	h := w.judge(5)
	up := func(name string) mail.ServerStatus { return mail.ServerStatus{Name: name, State: mail.ServerUp} }
	if diff := cmp.Diff([]mail.ServerStatus{up("a"), up("b"), up("c")}, h.Servers); diff != "" || h.Unknown != 2 {
		t.Errorf("%d unknown, want 2; %s", h.Unknown, diff)
	}
}

// TestTells checks that the first able machine that is there notifies the person, and that another waits until it is
// known whether that one is there.
func TestTells(t *testing.T) {
	now := time.Now()
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	const second = time.Second
	for _, tt := range []struct {
		name          string
		self, desk    time.Time // when they were last heard
		noticed       time.Time
		able          bool
		here, decided bool
	}{
		{"the first is heard since", ago(0), ago(second), ago(2 * second), true, false, true},
		{"the first may be heard yet", ago(0), ago(3 * second), ago(2 * second), true, true, false},
		{"the first is gone", ago(0), ago(30 * second), ago(8 * second), true, true, true},
		{"the first cannot tell", ago(0), ago(second), ago(2 * second), false, true, true},
		{"nobody is heard, the first was", ago(11 * second), ago(12 * second), ago(9 * second), true, false, true},
		{"nobody is heard, the first was gone before", ago(11 * second), ago(40 * second), ago(9 * second), true, true,
			true},
	} {
		m := &Machines{opts: MachineOptions{Name: "laptop", Tells: func() bool { return true }},
			known: map[mail.Machine]*machine{"laptop": {Name: "laptop", Tells: true, heard: tt.self},
				"desk":  {Name: "desk", Tells: tt.able, heard: tt.desk},
				"tower": {Name: "tower", Tells: true, heard: now}}}
		here, decided := m.Tells(tt.noticed)
		if here = here && decided; here != (tt.here && tt.decided) || decided != tt.decided {
			t.Errorf("%s: %v, decided %v", tt.name, here, decided)
		}
	}
}

package picture

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"pennypost/internal/mail"
)

// TestMatrix tests that eight agents or more are drawn as a matrix with the counts of the pairs.
func TestMatrix(t *testing.T) {
	w := NewTalk(flowMail(900, 20))
	if w.Matrix == nil || len(w.Nodes)+len(w.Edges) > 0 {
		t.Fatalf("20 agents: %d nodes, %d edges, no matrix", len(w.Nodes), len(w.Edges))
	}
	m := *w.Matrix
	if !slices.IsSortedFunc(m.Names[1:], mail.CompareNames) || m.Names[0] != mail.User || len(m.Names) != 21 {
		t.Errorf("the names are %v", m.Names)
	}
	sum, got := 0, 0
	hottest := 0
	for i, row := range m.Rows {
		sent := 0
		for j, c := range row.Cells {
			if c.From != m.Names[i] || c.To != m.Names[j] || (c.Heat == 0) != (c.Count == 0) || c.Heat > heats {
				t.Errorf("the cell %d, %d is %+v", i, j, c)
			}
			if c.Count > 0 && !slices.Contains(w.Pairs, c.Pair) {
				t.Errorf("%+v is none of the pairs", c)
			}
			sent += c.Count
			hottest = max(hottest, c.Heat)
		}
		if row.Sent != sent {
			t.Errorf("%s sent %d, the cells have %d", row.Name, row.Sent, sent)
		}
		sum, got = sum+sent, got+m.Got[i]
	}
	want := 0
	for _, p := range w.Pairs {
		want += p.Count
	}
	if sum != want || got != want || hottest != heats {
		t.Errorf("the cells have %d, the columns %d, the pairs %d; the hottest is %d", sum, got, want, hottest)
	}
}

func TestBusiest(t *testing.T) {
	pairs := []Pair{{From: "agent-10", To: "agent-2", Count: 5}, {From: "agent-1", To: "agent-2", Count: 3},
		{From: "user", To: "agent-3", Count: 1}, {From: "agent-9", To: "agent-9", Count: 1}}
	for most, want := range map[int]string{9: "user agent-1 agent-2 agent-3 agent-9 agent-10 +0",
		4: "user agent-1 agent-2 agent-10 +2", 1: "user +5"} {
		names, others := busiest(pairs, most)
		var got []string
		for _, n := range names {
			got = append(got, string(n))
		}
		if s := strings.Join(got, " ") + " +" + strconv.Itoa(others); s != want {
			t.Errorf("the busiest %d are %s, want %s", most, s, want)
		}
	}
	if n := agentsIn(pairs); n != 5 {
		t.Errorf("there are %d agents, want 5", n)
	}
}

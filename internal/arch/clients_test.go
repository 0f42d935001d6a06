package arch

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestClientsPageHasEvidence: the page for people promises the observed behaviour of the real clients, and no more.
func TestClientsPageHasEvidence(t *testing.T) {
	seen := table(t, "clients-evidence.md", "told mid-turn")
	said := table(t, "clients.md", "client")
	named := make(map[string][]string) // rows of the page for people
	for _, row := range said {
		named[row[0]] = row
	}
	told, woken := rowOf(t, seen, "told mid-turn"), rowOf(t, seen, "woken when idle")
	for i, client := range seen[0] {
		if client == "" {
			continue
		}
		row := named[client]
		if len(row) != 5 {
			t.Errorf("%s is not in the table of clients.md", client)
			continue
		}
		if yes, saw := strings.HasPrefix(row[2], "yes"), strings.HasPrefix(told[i], "✓"); yes != saw {
			t.Errorf("clients.md says that %s hears of mail while it works: %q; seen: %s", client, row[2], told[i])
		}
		if no, saw := row[3] == "no", strings.HasPrefix(woken[i], "✓"); no == saw {
			t.Errorf("clients.md says that %s is woken: %q; seen: %s", client, row[3], woken[i])
		}
	}
}

// table returns the rows of the table in a page that has a row of that name, including the head.
func table(t *testing.T, page, name string) [][]string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "..", "docs", page))
	if err != nil {
		t.Fatal(err)
	}
	var rows [][]string
	found := false
	for line := range strings.Lines(string(raw)) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "|") {
			if found {
				return rows
			}
			rows = nil
			continue
		}
		var row []string
		for _, cell := range strings.Split(strings.Trim(line, "|"), "|") {
			row = append(row, strings.TrimSpace(cell))
		}
		found = found || row[0] == name
		rows = append(rows, row)
	}
	t.Fatalf("%s has no table with %q", page, name)
	return nil
}

func rowOf(t *testing.T, rows [][]string, name string) []string {
	t.Helper()
	for _, row := range rows {
		if row[0] == name {
			return row
		}
	}
	t.Fatalf("no row %q", name)
	return nil
}

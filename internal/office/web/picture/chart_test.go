package picture

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pennypost/internal/mail"
)

// flowMail makes messages among agents, at times that are sometimes far apart.
func flowMail(n, agents int) []mail.Item {
	r := rand.New(rand.NewPCG(1, uint64(n*1000+agents)))
	at := mail.TimeOf(time.Date(2026, 5, 10, 9, 0, 0, 0, time.UTC))
	name := func() mail.Name {
		if i := r.IntN(agents + 1); i > 0 {
			return mail.Name("agent-" + strconv.Itoa(i))
		}
		return mail.User
	}
	items := make([]mail.Item, 0, n)
	for i := range n {
		at = at.Add(time.Duration(r.ExpFloat64() * float64(6*time.Minute)))
		if r.IntN(40) == 0 {
			at = at.Add(11 * time.Hour)
		}
		it := mail.Item{Seq: mail.Seq(i + 1), Message: mail.Message{
			ID: mail.ID("m" + strconv.Itoa(i)), Type: mail.Types()[r.IntN(9)], From: mail.AgentAddress(name()),
			Sent: at, Body: strings.Repeat("words ", r.IntN(60)),
		}}
		for range r.IntN(4) {
			to := name()
			it.To = append(it.To, mail.AgentAddress(to))
			it.Deliveries = append(it.Deliveries, mail.Delivery{Address: mail.AgentAddress(to), Agent: to,
				State: mail.DeliveryStates()[r.IntN(8)]})
		}
		items = append(items, it)
	}
	return items
}

// lettersOf distributes messages over that many rooms.
func lettersOf(items []mail.Item, rooms int) []Letter {
	out := make([]Letter, len(items))
	for i := range items {
		out[i] = Letter{mail.RoomName("room-" + strconv.Itoa(i%rooms)), items[i]}
	}
	return out
}

// TestChart tests that every letter has a row, that the user has the first column, and that the number of columns is
// limited.
func TestChart(t *testing.T) {
	for _, size := range []struct{ n, agents, rooms int }{{0, 1, 1}, {1, 1, 1}, {150, 5, 1}, {400, 12, 4},
		{400, 90, 3}} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			checkChart(t, lettersOf(flowMail(size.n, size.agents), size.rooms))
		})
	}
}

func checkChart(t *testing.T, letters []Letter) {
	t.Helper()
	c := NewChart(letters)
	if len(c.Rows) != len(letters) {
		t.Fatalf("%d rows for %d letters", len(c.Rows), len(letters))
	}
	if c.Rooms[0].Columns[0].Name != mail.User || len(c.Rooms[0].Columns) != 1 {
		t.Errorf("the first column is of %v", c.Rooms[0])
	}
	agents, before := 0, 0
	var rooms []mail.RoomName
	for _, h := range c.Rooms {
		if slices.Contains(rooms, h.Room) {
			t.Errorf("the room %s is there twice", h.Room)
		}
		rooms = append(rooms, h.Room)
		for _, col := range h.Columns {
			if col.X <= before || col.X >= c.Width {
				t.Errorf("a column at %d behind one at %d, of %d", col.X, before, c.Width)
			}
			if before = col.X; col.Name != "" && col.Name != mail.User {
				agents++
			}
			if (col.Name == "") != (col.Share > 0) {
				t.Errorf("%+v", col)
			}
		}
	}
	if agents > MostColumns {
		t.Errorf("%d agents have columns", agents)
	}
	for i, row := range c.Rows {
		if !strings.HasPrefix(row, "M") || strings.Contains(row, "NaN") {
			t.Errorf("row %d is %q", i, row)
		}
	}
}

func TestChartPath(t *testing.T) {
	at := mail.TimeOf(time.Date(2026, 5, 10, 9, 0, 0, 0, time.UTC))
	to := func(names ...mail.Name) (ds []mail.Delivery) {
		for _, n := range names {
			ds = append(ds, mail.Delivery{Agent: n})
		}
		return ds
	}
	c := NewChart([]Letter{
		{"shop", mail.Item{Message: mail.Message{From: "agent:b", Sent: at},
			Deliveries: to(mail.User, "c", "c", "b")}},
		{"shop", mail.Item{Message: mail.Message{From: "agent:b", Sent: at}, Deliveries: to("")}},
	})
	const dot = "a3 3 0 1 1 6 0a3 3 0 1 1 -6 0z"
	for i, want := range []string{
		"M52 12" + dot + "M15 11.25h71v1.5h-71z" + "M15 12l7 -4v8z" + "M55 12m-5 -5h10v2h-10z" + "M86 12l-7 4v-8z",
		"M52 12" + dot,
	} {
		if c.Rows[i] != want {
			t.Errorf("row %d is %q, want %q", i, c.Rows[i], want)
		}
	}
}

func FuzzChart(f *testing.F) {
	f.Add("builder-1", "Subject", int64(60_000))
	f.Add("\u202e<b>名前名前名前名前名前", strings.Repeat("W", 300), int64(-5))
	f.Fuzz(func(t *testing.T, name, text string, gap int64) {
		at := mail.TimeOf(time.Date(2026, 5, 10, 9, 0, 0, 0, time.UTC))
		gap %= 1 << 40
		var items []mail.Item
		for i := range 3 {
			items = append(items, mail.Item{Message: mail.Message{
				ID: mail.ID(strconv.Itoa(i)), Type: mail.Type(name), From: mail.Address(name),
				To: []mail.Address{mail.Address(text), "all"}, Subject: text, Sent: at + mail.Time(gap*int64(i)),
			}, Deliveries: []mail.Delivery{{Agent: mail.Name(name)}, {Agent: mail.Name(text), State: mail.Read}}})
		}
		checkChart(t, lettersOf(items, 2))
		checkWeb(t, NewTalk(items))
	})
}

func TestFit(t *testing.T) {
	for _, text := range []string{"", "short", strings.Repeat("wide ", 40), strings.Repeat("信", 40), "e\u0301e\u0301",
		"\xff\xfe\xfd" + strings.Repeat("x", 99)} {
		got := fit(text, 90, 12)
		if textWidth(got, 12) > 90 {
			t.Errorf("fit(%q) = %q is %.0f wide", text, got, textWidth(got, 12))
		}
		if textWidth(text, 12) <= 90 && got != text {
			t.Errorf("fit(%q) = %q, though there is room", text, got)
		}
	}
	if han := runeWidth('信'); runeWidth('⌚') != han || runeWidth('Ａ') != han || runeWidth('ｱ') >= han {
		t.Error("what East Asian type sets full width is not, or what it sets half is")
	}
}

// TestTalkWeb tests that numbers, nodes and names in the graph do not overlap, and that the numbers equal the
// table's.
func TestTalkWeb(t *testing.T) {
	for _, size := range []struct{ n, agents int }{{0, 1}, {1, 1}, {150, 5}, {900, 7}} {
		items := flowMail(size.n, size.agents)
		w := NewTalk(items)
		checkWeb(t, w)
		want := 0
		for i := range items {
			want += len(items[i].Deliveries)
		}
		got := 0
		for _, p := range w.Pairs {
			got += p.Count
		}
		if got != want || len(w.Nodes) > size.agents+1 || w.Matrix != nil {
			t.Errorf("%v: %d of %d deliveries, %d nodes, matrix %v", size, got, want, len(w.Nodes), w.Matrix)
		}
		numbered := 0
		for _, e := range w.Edges {
			if e.Numbered {
				numbered++
			}
		}
		if size.agents == 5 && numbered != len(w.Edges) {
			t.Errorf("%d of %d edges have numbers", numbered, len(w.Edges))
		}
	}
}

func checkWeb(t *testing.T, w Talk) {
	t.Helper()
	var taken []box4
	add := func(what string, b box4) {
		t.Helper()
		if slices.ContainsFunc(taken, b.touches) {
			t.Errorf("%s at %v covers something", what, b)
		}
		if b[0] < 0 || b[1] < 0 || b[2] > w.Width || b[3] > w.Height {
			t.Errorf("%s at %v is outside", what, b)
		}
		taken = append(taken, b)
	}
	for i := range w.Nodes {
		n := &w.Nodes[i]
		add(string(n.Name), n.box())
		wide := int(textWidth(n.Label, 12.5))
		left := map[string]int{"start": n.LabelX, "middle": n.LabelX - wide/2, "end": n.LabelX - wide}[n.Anchor]
		add("the name of "+string(n.Name), box4{left, n.LabelY - 10, left + wide, n.LabelY + 2})
	}
	for _, e := range w.Edges {
		if strings.Contains(e.Path+e.Head, "NaN") {
			t.Errorf("%+v", e)
		}
		if e.Numbered {
			add(fmt.Sprint("the number of ", e.Pair), box4{e.NumberX(), e.NumberY(), e.NumberX() + e.NumberWidth(),
				e.NumberY() + numberHeight})
		}
	}
}

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

// flowMail makes messages among agents, at times that now and then are far apart.
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

// Every message has a row of its own, in the order of time; rows, breaks and labels do not touch each other.
func TestChart(t *testing.T) {
	now := time.Date(2026, 5, 12, 18, 0, 0, 0, time.UTC)
	for _, size := range []struct{ n, agents int }{{1, 1}, {150, 5}, {400, 12}, {400, 90}} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			items := flowMail(size.n, size.agents)
			c := NewChart(items, now)
			checkChart(t, c, items)
			if c.Lanes[0].Name != mail.User {
				t.Errorf("the first lane is %s's", c.Lanes[0].Name)
			}
			var last time.Duration
			for i := 1; i < len(c.Arrows); i++ {
				between := c.Arrows[i].Item.Sent.Sub(c.Arrows[i-1].Item.Sent)
				broken := slices.ContainsFunc(c.Breaks, func(b timeBreak) bool {
					return b.Y > c.Arrows[i-1].Y && b.Y < c.Arrows[i].Y
				})
				if between > pause && !broken {
					t.Errorf("%v between two arrows, and the axis is not broken", between)
				}
				if !broken && between > last && c.Arrows[i].Y-c.Arrows[i-1].Y > rowMost {
					t.Errorf("%d pixels for %v", c.Arrows[i].Y-c.Arrows[i-1].Y, between)
				}
			}
		})
	}
}

func checkChart(t *testing.T, c Chart, items []mail.Item) {
	t.Helper()
	if len(c.Arrows) != len(items) {
		t.Fatalf("%d arrows for %d messages", len(c.Arrows), len(items))
	}
	if len(c.Lanes) > mostLanes {
		t.Errorf("%d lanes", len(c.Lanes))
	}
	for i, l := range c.Lanes {
		if w := textWidth(l.Label, 12); i > 0 && l.X-c.Lanes[i-1].X < int(w) {
			t.Errorf("the label %q is %.0f wide in a lane of %d", l.Label, w, l.X-c.Lanes[i-1].X)
		}
	}
	end := 0
	breaks := c.Breaks
	for i, a := range c.Arrows {
		if a.Item.ID != items[i].ID {
			t.Errorf("arrow %d is %s, not %s", i, a.Item.ID, items[i].ID)
		}
		for len(breaks) > 0 && breaks[0].Y < a.Y {
			if breaks[0].Y < end {
				t.Errorf("a break at %d covers what ends at %d", breaks[0].Y, end)
			}
			end = breaks[0].Y + breaks[0].Height
			breaks = breaks[1:]
		}
		if a.Top() < end {
			t.Errorf("row %d begins at %d, above %d", i, a.Top(), end)
		}
		end = a.Top() + rowLeast
		if a.Left > a.X || a.Right < a.X || a.Left < axisWidth/2 || a.Right > c.TextX {
			t.Errorf("arrow %d from %d reaches from %d to %d", i, a.X, a.Left, a.Right)
		}
		if w := textWidth(a.Prefix, 12) + textWidth(a.Text, 12.5); c.TextX+int(w) > c.Width {
			t.Errorf("the words of arrow %d are %.0f wide: %q %q", i, w, a.Prefix, a.Text)
		}
	}
	if len(breaks) > 0 || c.Height < end {
		t.Errorf("the picture is %d high, and %d are used; %d breaks are left", c.Height, end, len(breaks))
	}
}

func TestChartTips(t *testing.T) {
	at := mail.TimeOf(time.Date(2026, 5, 10, 9, 0, 0, 0, time.UTC))
	it := mail.Item{Message: mail.Message{Type: mail.Status, From: "agent:b", To: []mail.Address{"all"},
		Subject: "Lunch", Sent: at}, Deliveries: []mail.Delivery{
		{Address: "all", Agent: mail.User, State: mail.Queued}, {Address: "all", Agent: "c", State: mail.Read},
		{Address: "all", Agent: "b", State: mail.Dead},
	}}
	held := mail.Item{Message: mail.Message{Type: mail.Question, From: "agent:b", To: []mail.Address{"role:cook"},
		Body: "When?", Sent: at}, Deliveries: []mail.Delivery{{Address: "role:cook", State: mail.Held}}}
	c := NewChart([]mail.Item{it, held}, at.Std())
	a := c.Arrows[0]
	if len(a.Tips) != 3 || !a.Loop || a.Prefix != "all" || a.Clock != "09:00" {
		t.Fatalf("%+v", a)
	}
	if u, r, self := a.Tips[0], a.Tips[1], a.Tips[2]; !u.Left || u.Filled || u.X >= a.X || !r.Filled || r.Left ||
		r.X <= a.X || !self.Lost {
		t.Errorf("%+v", a.Tips)
	}
	if h := c.Arrows[1]; !h.Held() || h.Prefix != "role:cook" || h.Clock != "" {
		t.Errorf("%+v", h)
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
		checkChart(t, NewChart(items, at.Std()), items)
		w := NewTalk(items)
		checkWeb(t, w)
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

// Numbers, nodes and names in the web cover nothing of each other, and the numbers are the table's.
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

package policy

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pennypost/internal/mail"
)

func TestExpiry(t *testing.T) {
	h := func(n int) mail.Time { return mail.Time(1).Add(time.Duration(n) * time.Hour) }
	for name, c := range map[string]struct {
		to      mail.Address
		ttl     int64
		freezes []mail.Freeze
		rules   TTL
		want    mail.Time
	}{
		"agent":           {to: "agent:a", want: h(7 * 24)},
		"tag":             {to: "project:x", want: h(24)},
		"all":             {to: "all", want: h(4)},
		"role":            {to: "role:x", want: 0},
		"user":            {to: "user", want: 0},
		"orchestrator":    {to: "orchestrator", want: 0},
		"explicit":        {to: "role:x", ttl: 3600, want: h(1)},
		"rules":           {to: "agent:a", rules: TTL{Agent: 24 * time.Hour}, want: h(24)},
		"rules: never":    {to: "agent:a", rules: TTL{Agent: -1}, want: 0},
		"frozen for ever": {to: "agent:a", freezes: []mail.Freeze{{From: h(1)}}, want: 0},
		"frozen before": {to: "agent:a", ttl: 3600 * 10, freezes: []mail.Freeze{{From: h(-9), To: h(-5)}},
			want: h(10)},
		"frozen around sending": {to: "agent:a", ttl: 3600 * 10, freezes: []mail.Freeze{{From: h(-9), To: h(5)}},
			want: h(15)},
		"frozen twice": {to: "agent:a", ttl: 3600 * 10, freezes: []mail.Freeze{{From: h(1), To: h(2)},
			{From: h(10), To: h(20)}}, want: h(21)},
		"frozen when it is late": {to: "agent:a", ttl: 3600, freezes: []mail.Freeze{{From: h(1), To: h(2)}},
			want: h(1)},
	} {
		if got := c.rules.Expiry(1, c.ttl, c.to, c.freezes); got != c.want {
			t.Errorf("%s: Expiry = %v, want %v", name, got, c.want)
		}
	}
}

func TestNextIsFair(t *testing.T) {
	holders := []mail.Name{"a", "b", "c"}
	count := map[mail.Name]int{}
	last := mail.Name("")
	for range 300 {
		last = Next(holders, last)
		count[last]++
	}
	if diff := cmp.Diff(map[mail.Name]int{"a": 100, "b": 100, "c": 100}, count); diff != "" {
		t.Error(diff)
	}
	for last, want := range map[mail.Name]mail.Name{"": "a", "c": "a", "aa": "b", "zz": "a"} {
		if got := Next(holders, last); got != want {
			t.Errorf("Next behind %q = %q, want %q", last, got, want)
		}
	}
	if got := Next(nil, "a"); got != "" {
		t.Errorf("Next of nobody = %q", got)
	}
}

func TestDescendants(t *testing.T) {
	tree := map[mail.Name][]mail.Name{"root": {"a", "b"}, "a": {"a1", "a2"}, "b": {"root"}, "a2": {"a2"}}
	got := Descendants("root", func(n mail.Name) []mail.Name { return tree[n] })
	if diff := cmp.Diff([]mail.Name{"a1", "a2", "a", "b"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestWakes(t *testing.T) {
	recipients := []mail.Type{mail.TaskAssigned, mail.ReviewRequest, mail.Question, mail.Answer, mail.Cancel}
	orchestrators := []mail.Type{mail.TaskDone, mail.ReviewResult, mail.Question}
	for _, typ := range mail.Types() {
		wakes := func(a mail.Address, orchestrator bool) bool {
			return Wakes(typ, mail.Normal, "agent:a", a, orchestrator)
		}
		if got, want := wakes("agent:b", false), slices.Contains(recipients, typ); got != want {
			t.Errorf("%s wakes its recipient: %v, want %v", typ, got, want)
		}
		if got, want := wakes("orchestrator", true), slices.Contains(orchestrators, typ) ||
			slices.Contains(recipients, typ); got != want {
			t.Errorf("%s wakes the orchestrator: %v, want %v", typ, got, want)
		}
		if got, want := wakes("all", false), typ == mail.Cancel; got != want {
			t.Errorf("%s to all wakes: %v, want %v", typ, got, want)
		}
		if wakes("user", false) {
			t.Errorf("%s rings a door for the user", typ)
		}
		if !Wakes(typ, mail.Urgent, "agent:a", "agent:b", false) {
			t.Errorf("urgent %s does not wake", typ)
		}
	}
	if !Wakes(mail.Custom, mail.Normal, mail.ToUser, "agent:b", false) {
		t.Error("what the person writes to an agent does not wake it")
	}
}

// TestTrim checks retention against the reading of seed 1 in docs/design.md: age first, then read messages older than
// a day, then the oldest; a message exactly at a limit stays.
func TestTrim(t *testing.T) {
	const day = 24 * time.Hour
	now := mail.Time(1_000_000_000_000)
	msg := func(id string, age time.Duration, settled bool) Held {
		return Held{ID: mail.ID(id), Sent: now.Add(-age), Settled: settled, Unread: !settled}
	}
	for name, c := range map[string]struct {
		rules Retention
		msgs  []Held
		want  []mail.ID
		told  mail.Trimmed
	}{
		"nothing": {msgs: []Held{msg("a", 7*day, true)}, told: mail.Trimmed{Kept: 1}},
		"age": {msgs: []Held{msg("a", 7*day+time.Millisecond, false), msg("b", day, true)}, want: []mail.ID{"a"},
			told: mail.Trimmed{Age: 1, Unread: 1, Kept: 1}},
		"read and a day old go first, only as many as needed": {
			rules: Retention{Count: 3},
			msgs: []Held{msg("a", 3*day, false), msg("b", 3*day, true), msg("c", 2*day, true),
				msg("d", time.Hour, true), msg("e", 0, false)},
			want: []mail.ID{"b", "c"}, told: mail.Trimmed{Read: 2, Kept: 3},
		},
		"what was read has a whole day": {
			rules: Retention{Count: 1},
			msgs:  []Held{msg("a", 3*day, false), msg("b", day, true)},
			want:  []mail.ID{"a"}, told: mail.Trimmed{Oldest: 1, Unread: 1, Kept: 1},
		},
		"then the oldest": {
			rules: Retention{Count: 1},
			msgs:  []Held{msg("a", 3*day, false), msg("b", time.Hour, true), msg("c", 0, false)},
			want:  []mail.ID{"a", "b"}, told: mail.Trimmed{Oldest: 2, Unread: 1, Kept: 1},
		},
		"unsettled role mail stays": {
			rules: Retention{Count: 1},
			msgs:  []Held{{ID: "a", Sent: 1, Unsettled: true}, msg("b", 0, false)},
			want:  []mail.ID{"b"}, told: mail.Trimmed{Oldest: 1, Unread: 1, Kept: 1},
		},
		"what was sent to last longer stays": {
			msgs: []Held{{ID: "a", Sent: 1, Lives: true, Unread: true}, msg("b", 8*day, false)},
			want: []mail.ID{"b"}, told: mail.Trimmed{Age: 1, Unread: 1, Kept: 1},
		},
		"no limits": {rules: Retention{Age: -1, Count: -1}, msgs: []Held{msg("a", 1000*day, true)},
			told: mail.Trimmed{Kept: 1}},
	} {
		ids, told := c.rules.Trim(c.msgs, now)
		if diff := cmp.Diff(c.want, ids); diff != "" || told != c.told {
			t.Errorf("%s: trimmed %v %+v, want %v %+v", name, ids, told, c.want, c.told)
		}
	}
}

func TestTrimDefaultCount(t *testing.T) {
	var msgs []Held
	for i := range DefaultCount + 1 {
		msgs = append(msgs, Held{ID: mail.ID(fmt.Sprint(i)), Sent: 1})
	}
	if ids, _ := (Retention{}).Trim(msgs[1:], 1); ids != nil {
		t.Errorf("%d messages: %v go", DefaultCount, ids)
	}
	if ids, _ := (Retention{}).Trim(msgs, 1); len(ids) != 1 || ids[0] != "0" {
		t.Errorf("%d messages: %v go, want the oldest", DefaultCount+1, ids)
	}
}

func TestNearest(t *testing.T) {
	words := []string{"builder-1", "builder-2", "reviewer", "role:architect", "小克", "Mac CLI 小克"}
	for word, want := range map[string][]string{
		"bilder-1":                       {"builder-1", "builder-2"},
		strings.Repeat("builder-1", 100): {}, "REVIEWR": {"reviewer"}, "architct": {"role:architect"}, "小刻": {"小克"},
		"zzzzzz": {}, "": {},
		"cli": {"Mac CLI 小克"}, "reviewer please": {"reviewer"}, "vi": {"reviewer", "小克"}, "v": {"小克"},
	} {
		if diff := cmp.Diff(want, Nearest(word, words, 2)); diff != "" && !(word == "" || word == "小刻") {
			t.Errorf("Nearest(%q) (-want +got):\n%s", word, diff)
		}
	}
	if got := Nearest("小刻", words, 1); len(got) != 1 || got[0] != "小克" {
		t.Errorf("Nearest(小刻) = %v", got)
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"abc", "abc", 0}, {"abc", "xabc", 1}, {"xabc", "abc", 1},
		{"kitten", "sitting", 3}, {"ab", "ba", 1}, {"xaby", "xbay", 1}, {"abcd", "badc", 2}, {"aab", "aba", 1},
		{"ab", "xb", 1}, {"abx", "bxa", 2}, {"小克", "克小", 1},
	} {
		if got := distance([]rune(c.a), []rune(c.b)); got != c.want {
			t.Errorf("distance(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

func TestStanding(t *testing.T) {
	for name, c := range map[string]struct {
		s    DeliveryFacts
		want mail.DeliveryState
	}{
		"new":                  {DeliveryFacts{}, mail.Queued},
		"rung":                 {DeliveryFacts{Notified: 1}, mail.Notified},
		"presented":            {DeliveryFacts{Notified: 2, Presented: 1}, mail.Presented},
		"read":                 {DeliveryFacts{Presented: 1, Read: 2}, mail.Read},
		"archived":             {DeliveryFacts{Read: 2, Archived: 3}, mail.Archived},
		"expired":              {DeliveryFacts{Presented: 1, Expires: 10}, mail.Expired},
		"read, then expired":   {DeliveryFacts{Read: 1, Expires: 10}, mail.Read},
		"expires later":        {DeliveryFacts{Expires: 11}, mail.Queued},
		"gone":                 {DeliveryFacts{Direct: true, Away: true}, mail.Dead},
		"presented, then gone": {DeliveryFacts{Presented: 1, Direct: true, Away: true}, mail.Dead},
		"read, then gone":      {DeliveryFacts{Read: 1, Direct: true, Away: true}, mail.Read},
		"tag mail of one gone": {DeliveryFacts{Away: true}, mail.Queued},
	} {
		if got, _ := c.s.State(10); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestKeepsRoleMail(t *testing.T) {
	for _, c := range []struct {
		listed bool
		state  mail.State
		roles  []string
		want   bool
	}{
		{true, mail.Working, []string{"a", "b"}, true}, {true, mail.Frozen, []string{"b"}, true},
		{true, mail.Gone, []string{"b"}, false}, {true, mail.Idle, []string{"a"}, false},
		{false, mail.Idle, []string{"b"}, false},
	} {
		if got := KeepsRoleMail(c.listed, c.state, c.roles, "b"); got != c.want {
			t.Errorf("KeepsRoleMail(%v, %s, %v) = %v, want %v", c.listed, c.state, c.roles, got, c.want)
		}
	}
}

func TestSessionLive(t *testing.T) {
	at := func(d time.Duration) mail.Time { return mail.Time(1).Add(d) }
	for _, c := range []struct {
		state   mail.State
		session string
		silent  time.Duration
		want    bool
	}{
		{mail.Idle, "s", 0, true}, {mail.Working, "s", SessionLapse - 1e6, true},
		{mail.Idle, "s", SessionLapse, false},
		{mail.Gone, "s", 0, false}, {mail.Idle, "", 0, false}, {mail.Frozen, "s", 0, true},
	} {
		if got := SessionLive(c.state, c.session, 1, at(c.silent)); got != c.want {
			t.Errorf("SessionLive(%s, %q, silent %v) = %v, want %v", c.state, c.session, c.silent, got, c.want)
		}
	}
}

func TestProvenDoor(t *testing.T) {
	const at = mail.Time(1778421600123)
	for _, c := range []struct {
		rung    string
		since   time.Duration
		through string
		want    string
	}{
		{"rewake", time.Second, "mcp", "rewake"},
		{"rewake", proofTime, "hook", "rewake"},
		{"rewake", proofTime + time.Second, "hook", "hook"}, // it looked for another reason
		{"", 0, "wait", "wait"},
		{mail.HookDoor, time.Second, "mcp", "mcp"}, // it was pointed to, not rung
	} {
		if got := ProvenDoor(c.rung, at, c.through, at.Add(c.since)); got != c.want {
			t.Errorf("ProvenDoor(%q, %s before, %q) = %q, want %q", c.rung, c.since, c.through, got, c.want)
		}
	}
}

func TestJoin(t *testing.T) {
	var freezes []mail.Freeze
	for i := range 10 * MaxFreezes { // longer and longer, with the shortest gaps first
		at := mail.Time(1000 * i)
		if freezes = Join(append(freezes, mail.Freeze{From: at})); len(freezes) > MaxFreezes {
			t.Fatalf("%d spans", len(freezes))
		}
		freezes[len(freezes)-1].To = at + mail.Time(999-i)
	}
	first := freezes[0]
	if first.From != 0 || first.To < 500_000 {
		t.Errorf("the first span is %+v, want those with the shortest pauses between them", first)
	}
	for i := range freezes[1:] {
		if freezes[i+1].From <= freezes[i].To {
			t.Errorf("%+v is not behind %+v", freezes[i+1], freezes[i])
		}
	}
}

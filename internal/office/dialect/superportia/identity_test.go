package superportia

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
	"pennypost/internal/office/dialect"
	"pennypost/internal/office/dialect/dialecttest"
)

func listed(b *dialecttest.Fixture) (list []identity) {
	b.T.Helper()
	for _, s := range standings(b) {
		list = append(list, s.identity)
	}
	return list
}

func standings(b *dialecttest.Fixture) (list []standing) {
	b.T.Helper()
	out, _, err := b.Verb("identities", "--json")
	if err == nil {
		err = jsonx.UnmarshalStrict([]byte(out), &list)
	}
	if err != nil {
		b.T.Fatal(err)
	}
	return list
}

// The list shows each identity's status as a heartbeat does.
func TestStanding(t *testing.T) {
	b := fleetFixture(t)
	of := func(name mail.Name) standing {
		t.Helper()
		for _, s := range standings(b) {
			if s.Identity == name {
				return s
			}
		}
		t.Fatalf("%s is not listed", name)
		return standing{}
	}
	if got := of(cli); got.Status != "offline" || got.ID != "mac-cli" {
		t.Errorf("before its first heartbeat: %+v", got)
	}
	h := must[presence](b, cli, "agent_heartbeat", `{"current_task":"the parser"}`)
	if got := of(cli); got.Status != "working" || got.Task != "the parser" || got.Seen != h.Seen {
		t.Errorf("after the heartbeat %+v: %+v", h, got)
	}
	b.Advance(time.Hour)
	if got := of(cli); got.Status != "offline" || got.Seen != h.Seen {
		t.Errorf("an hour later: %+v", got)
	}
}

// A process without an identity gets no mailbox, and adds no one to the roster.
func TestNobodysMailbox(t *testing.T) {
	b := fleetFixture(t)
	for _, name := range []mail.Name{"agent-home", "mac cli 小克"} {
		_, err := b.Call(name, "agent_heartbeat", ``)
		if mail.CodeOf(err) != mail.Denied || !strings.Contains(err.Error(), "SP_AGENT_ID=IDENTITY") ||
			!strings.Contains(err.Error(), `"Mac CLI 小克"`) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := listed(b); len(got) != 3 {
		t.Errorf("the identities are %v", got)
	}
}

func TestIdentities(t *testing.T) {
	t.Run("SP-03 the document's identities, byte for byte and in order", func(t *testing.T) {
		data := fixture(t, "superportia-identities.json")
		got, _, err := newFixture(t, data).Verb("identities", "--json")
		if err != nil {
			t.Fatal(err)
		}
		want := jsonx.Value(data)
		if err := want.Compact(); err != nil {
			t.Fatal(err)
		}
		got = regexp.MustCompile(`,"status":"offline"}`).ReplaceAllString(got, "}")
		if diff := cmp.Diff(string(want)+"\n", got); diff != "" {
			t.Errorf("identities (-loaded +listed):\n%s", diff)
		}
	})
	t.Run("loading again changes, adds and keeps", func(t *testing.T) {
		b := fleetFixture(t)
		const app mail.Name = "Mac App 小克"
		if _, err := b.As(mail.User).Register(t.Context(),
			mail.Presence{Name: app, Roles: []string{"Engineer", "reviewer"},
				Tags: append([]string{"project:x"}, "domain:identity:002")}); err != nil {
			t.Fatal(err)
		}
		b.Register("builder", "orchestrator")
		if err := loadFile(b,
			[]byte(
				`[{"identity":"Mac App 小克","ship":"SS9","platform":"Bridge","role":"Pilot"},{"identity":"小西","role":"Strategist"},{"identity":"夏哥","ship":"SS9","platform":"Bridge","role":"Captain"}]`)); err != nil {
			t.Fatal(err)
		}
		want := []identity{
			{Identity: "Mac App 小克", Ship: "SS9", Platform: "Bridge", Role: "Pilot"},
			{Identity: "Mac CLI 小克", Ship: "SS1", Platform: "Claude Code CLI", Role: "Engineer", ID: "mac-cli"},
			{Identity: "小西", Role: "Strategist"},
			{Identity: "夏哥", Ship: "SS9", Platform: "Bridge", Role: "Captain"},
			{Identity: "builder", Role: "orchestrator"},
		}
		if diff := cmp.Diff(want, listed(b)); diff != "" {
			t.Errorf("identities (-want +got):\n%s", diff)
		}
		roster, err := mail.Roster(t.Context(), b.As(mail.User))
		if err != nil {
			t.Fatal(err)
		}
		a, _ := dialect.OnRoster(roster, app)
		if diff := cmp.Diff([]string{"Pilot", "reviewer"}, a.Roles); diff != "" {
			t.Errorf("roles (-want +got):\n%s", diff)
		}
		if tagValue(a, "project:") != "x" {
			t.Errorf("tags: %v", a.Tags)
		}
	})
}

func TestBadIdentities(t *testing.T) {
	for name, file := range map[string]string{
		"not JSON":       `{`,
		"not a list":     `{"identity":"a"}`,
		"SP-03 twice":    `[{"identity":"a","role":"r"},{"identity":"a","role":"r"}]`,
		"two Captains":   `[{"identity":"a","role":"Captain"},{"identity":"b","role":"Captain"}]`,
		"an id twice":    `[{"identity":"a","role":"r","id":"x"},{"identity":"b","role":"r","id":"x"}]`,
		"twice after P3": "[{\"identity\":\"Zo\u00eb\",\"role\":\"r\"},{\"identity\":\"Zoe\u0308\",\"role\":\"r\"}]",
		"reserved":       `[{"identity":"a","role":"r"},{"identity":"user","role":"r"}]`,
		"an address":     `[{"identity":"role:x","role":"r"}]`,
		"no role":        `[{"identity":"a"}]`,
		"a bad role":     `[{"identity":"a","role":"x:y"}]`,
		"a bad ship":     `[{"identity":"a","role":"r","ship":"a,b"}]`,
		"a long ship":    `[{"identity":"a","role":"r","ship":"` + strings.Repeat("x", 200) + `"}]`,
		"too many": `[` + strings.Repeat(`{"identity":"a","role":"r"},`, maxIdentities) +
			`{"identity":"a","role":"r"}]`,
	} {
		t.Run(name, func(t *testing.T) {
			b := dialecttest.New(t, Dialect())
			err := loadFile(b, []byte(file))
			if err == nil || !strings.Contains(err.Error(), "nothing was loaded") {
				t.Errorf("loading it: %v", err)
			}
			if got := listed(b); len(got) > 0 {
				t.Errorf("loaded: %v", got)
			}
		})
	}
}

func TestIdentify(t *testing.T) {
	b := fleetFixture(t)
	for _, c := range []struct {
		given string
		want  []mail.Name
		says  string // part of the error
	}{
		{"", nil, ""},
		{"Mac App 小克", []mail.Name{"Mac App 小克"}, ""},
		{"mac-cli", []mail.Name{"Mac CLI 小克"}, ""},
		{"mac-cli, 夏哥,mac-cli", []mail.Name{"Mac CLI 小克", mail.User}, ""},
		{"mac-app", nil, `"Mac App 小克"`},
		{"Mac CLI", nil, `"Mac CLI 小克"`},
		{"mac-cli,Mac App", nil, `SP_AGENT_ID is "Mac App", which is neither`},
		{"mac-cli,", nil, "neither an identity"},
		{"user", nil, "neither an identity"},
		{"submarine", nil, `"夏哥"`},
	} {
		t.Run("SP-07 SP_AGENT_ID="+c.given, func(t *testing.T) {
			got, err := Dialect().Identify(t.Context(), b.As(mail.User), func(k string) string {
				return map[string]string{"SP_AGENT_ID": c.given}[k]
			})
			if !slices.Equal(got, c.want) || (err != nil) != (c.says != "") || err != nil &&
				!strings.Contains(err.Error(), c.says) {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
	t.Run("an empty room says what to type", func(t *testing.T) {
		_, err := identify(t.Context(), dialecttest.New(t, Dialect()).As(mail.User), func(string) string {
			return "mac-cli"
		})
		if err == nil || !strings.Contains(err.Error(), "pennypost superportia identities load FILE") {
			t.Errorf("the error is %v", err)
		}
	})
}

func TestP9SystemNames(t *testing.T) {
	for _, name := range []string{"system:cron", "system:webhook", "Mac CLI 小克", "夏哥"} {
		if got, err := mail.ParseName(name); err != nil || mail.AgentAddress(got).Signer() != got ||
			mail.AgentAddress(got).Kind() != mail.ToAgent {
			t.Errorf("%q as a name: %q, %v", name, got, err)
		}
	}
}

func FuzzIdentities(f *testing.F) {
	f.Add([]byte(fleet))
	f.Add([]byte(`[{"identity":"system:cron","ship":"","platform":"a b","role":"r","x":1}]`))
	f.Add([]byte(`[{"identity":"Zoë","role":"r","id":"z:1"}]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		list, err := decodeIdentities(data)
		if err != nil {
			return
		}
		var roster []mail.Agent
		for i := range list {
			p := list[i].presence(i+1, mail.Agent{})
			roster = append(roster, mail.Agent{Name: p.Name, Roles: p.Roles, Tags: p.Tags})
		}
		if diff := cmp.Diff(list, identities(roster)); diff != "" && len(list) > 0 {
			t.Fatalf("by way of the roster (-file +roster):\n%s", diff)
		}
		encoded, err := jsonx.Marshal(list)
		if err != nil {
			t.Fatal(err)
		}
		again, err := decodeIdentities(encoded)
		if diff := cmp.Diff(list, again); err != nil || diff != "" {
			t.Fatalf("decoded again (-before +after): %v\n%s", err, diff)
		}
	})
}

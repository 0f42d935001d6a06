package config

import (
	"strings"
	"testing"
	"time"

	"pennypost/internal/mail"
)

const standup = "[[rooms.lab.scheduled]]\nname = \"standup\"\nto = [\"ann\"]\ntext = \"What do you do?\"\n" +
	"every = \"0 9 * * mon-fri\"\nzone = \"Europe/Berlin\"\n"

// with returns standup with the line of a key replaced; without a value, without that line.
func with(key, value string) string {
	var out []string
	for line := range strings.Lines(standup) {
		if !strings.HasPrefix(line, key+" =") {
			out = append(out, line)
		}
	}
	if value != "" {
		out = append(out, key+" = "+value+"\n")
	}
	return strings.Join(out, "")
}

func TestScheduledRefused(t *testing.T) {
	for name, tt := range map[string]struct{ text, want string }{
		"cron":       {with("every", `"9 *"`), `[[rooms.lab.scheduled]] "standup" every: "9 *" is not a cron line`},
		"never":      {with("every", `"0 0 30 2 *"`), "names a day that does not exist"},
		"no time":    {with("every", ""), `"standup" has no time: write every = "0 9 * * mon-fri"`},
		"no text":    {with("text", ""), `"standup" has no text: write text = `},
		"blank text": {with("text", `" \n "`), `"standup" has no text`},
		"nobody":     {with("to", ""), `"standup" has no recipient: write to = ["builder"]`},
		"blank":      {with("to", `["ann", " "]`), `"standup" to has an empty address`},
		"no name":    {with("name", ""), `[[rooms.lab.scheduled]] entry 1 has no valid name`},
		"odd name":   {with("name", `"a\u001bb"`), `[[rooms.lab.scheduled]] entry 1 has no valid name`},
		"from":       {with("from", `"system"`), `"standup" from: `},
		"zone":       {with("zone", `"Mars/Olympus"`), `"standup" zone is "Mars/Olympus"`},
		"local":      {with("zone", `"Local"`), `zone is "Local"`},
		"until":      {with("until", `"tomorrow"`), `"standup" until is "tomorrow": write a day, "2027-06-30"`},
		"type":       {with("type", `"shout"`), `"shout"`},
		"twice":      {standup + standup, `[[rooms.lab.scheduled]] "standup" occurs twice`},
		"of all":     {"[[room.scheduled]]\nname = \"x\"\n", "[room] has scheduled mail, which belongs to one room"},
		"key":        {with("evry", `"x"`), "config.toml:7:1: there is no key"},
		"near":       {with("evry", `"x"`), "did you mean room.scheduled.every?"},
		"kind":       {with("to", `"ann"`), "rooms.lab.scheduled.to is a string here; write a list"},
		"one":        {"[rooms.lab]\nscheduled = 3\n", "write a section for each, [[rooms.lab.scheduled]]"},
	} {
		_, err := load(t, tt.text, nil)
		if mail.CodeOf(err) != mail.Invalid || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
}

func TestScheduled(t *testing.T) {
	c, err := load(t, with("until", `"2027-06-30"`)+"[[rooms.lab.scheduled]]\nname = \"two\"\nfrom = \"bob\"\n"+
		"to = [\"ann\"]\ntext = \"x\"\nevery = \"0 9 * * *\"\nzone = \"UTC\"\nuntil = \"2027-06-30 18:00\"\n", nil)
	if err != nil {
		t.Fatal(err)
	}
	r := c.For("lab")
	got := r.Standing()
	if len(got) != 2 || got[0].From != mail.User || got[1].From != "bob" || got[0].Draft.Zone != "Europe/Berlin" {
		t.Errorf("Standing = %+v", got)
	}
	for i, want := range []string{"2027-06-30T21:59:59.999Z", "2027-06-30T18:00:00.000Z"} {
		if end := got[i].Draft.Until.String(); end != want {
			t.Errorf("%s ends at %s, want %s", got[i].Name, end, want)
		}
	}
	other := got[0]
	other.Draft.Body += "!"
	if got[0].Sum() == got[1].Sum() || got[0].Sum() == other.Sum() || got[0].Sum() != r.Standing()[0].Sum() {
		t.Error("the sums do not tell what changed")
	}
	var printed strings.Builder
	if err := c.Print(&printed); err != nil {
		t.Fatal(err)
	}
	again := Config{Home: c.Home}
	if err := again.parse([]byte(printed.String())); err != nil {
		t.Fatal(err)
	}
	back := again.For("lab")
	for i, s := range back.Standing() {
		if s.Sum() != got[i].Sum() {
			t.Errorf("printed and read again it is %+v, want %+v", s, got[i])
		}
	}
	if r := c.For("other"); len(r.Scheduled) != 0 {
		t.Errorf("another room has %+v", r.Scheduled)
	}
}

// The default zone is the machine's.
func TestScheduledZone(t *testing.T) {
	t.Setenv("TZ", "Asia/Tokyo")
	c, err := load(t, with("zone", ""), nil)
	if err != nil {
		t.Fatal(err)
	}
	r := c.For("lab")
	want := "Asia/Tokyo"
	if time.Local == time.UTC {
		want = "UTC"
	}
	if zone := r.Standing()[0].Draft.Zone; zone != want {
		t.Errorf("the zone is %q, want %q", zone, want)
	}
}

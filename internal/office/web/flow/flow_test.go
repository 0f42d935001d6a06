package flow_test

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"pennypost/internal/mail"
	"pennypost/internal/office/web/flow"
	"pennypost/internal/office/web/picture"
	"pennypost/internal/office/web/sitetest"
	"pennypost/internal/office/web/words"
)

func TestFlow(t *testing.T) {
	b := newFixture(t)
	b.Register(mail.Presence{Name: "builder-1", Roles: []string{"builder"}}, mail.Presence{Name: "builder-2"})
	asked := b.Send("builder-1", mail.Draft{Subject: "Which oil?", Type: "question"})
	b.Send(mail.User, mail.Draft{To: mail.Recipients{"builder-1"}, Body: "Rape", Type: "answer", ReplyTo: asked})
	b.Send("builder-2", mail.Draft{To: mail.Recipients{"role:builder"}, Body: "Ready", Type: "status"})

	b.Get("/@shop/flow").Want(t, 200, "Which oil?", `id="flow-`+string(asked)+`"`, `href="/@shop/t/`+string(asked)+
		`#m-`+string(asked)+`"`, `class="arrow colour-accent line-solid"`,
		"3 messages between user, builder-1, builder-2",
		"role:builder", `class="lane-heads"`, `aria-current="true">day`).Without(t, "style=", "NaN")
	b.Get("/@shop/flow?type=question&w=1h").Want(t, 200, "Which oil?", "1 message between").Without(t, ">Ready<")
	b.Part("/@shop/flow", "flow").Want(t, 200, `<section id="flow"`).Without(t, "<html")
	a := b.Get("/@shop/flow?view=talk").Want(t, 200,
		`href="/@shop/history?agent=user&amp;from=agent%3Abuilder-1&amp;since=`,
		"builder-1 to user: 1 message, 0 read", "<table>", "builder-2 to builder-1: 1 message").Without(t, "NaN")
	if n := strings.Count(a.Body, `class="edge `); n != 3 {
		t.Errorf("%d edges, want 3", n)
	}
	b.Get("/@shop/flow?until=2001-01-01&w=1h").Want(t, 200, "Nobody wrote anything").Without(t, "The last before that")
	b.Get("/@shop/flow?until=2100-01-01&w=1h").Want(t, 200, "The last before that")
	for _, query := range []string{"w=2h", "view=pie", "until=soon", "type=gossip"} {
		b.Get("/@shop/flow?"+query).Want(t, 400)
	}
}

// One picture has so many arrows and no more; the others are a link away.
func TestFlowCut(t *testing.T) {
	b := newFixture(t)
	for i := range flow.MostArrows + 5 {
		b.Send("builder-1", mail.Draft{Subject: "Number " + strconv.Itoa(i) + "."})
	}
	a := b.Get("/@shop/flow").Want(t, 200, "The newest 300 messages of these hours are drawn", "Number 5.",
		"Number 304.").Without(t, "Number 4.")
	if n := strings.Count(a.Body, `class="arrow `); n != flow.MostArrows {
		t.Errorf("%d arrows", n)
	}
	b.Get("/@shop/flow?view=talk").Want(t, 200, "builder-1 to user: 305 messages").Without(t, "The newest")
}

func TestFlowHostile(t *testing.T) {
	b := newFixture(t)
	evil := mail.Name(`e"><script>alert(1)</script>`)
	b.Register(mail.Presence{Name: evil, Tags: []string{`project:"><img src=x>`}})
	b.Send(evil, mail.Draft{Subject: sitetest.HostileText, To: mail.Recipients{"user", `project:"><img src=x>`}})
	b.Send(mail.User, mail.Draft{Subject: "</title></svg><img src=x>",
		To: mail.Recipients{string(mail.AgentAddress(evil))}})
	for _, query := range []string{"", "?view=talk", "?type=custom", "?w=all"} {
		b.Get("/@shop/flow"+query).Want(t, 200).Without(t, "<script>alert", "<img", "</title></svg>")
	}
}

// TestTypesAreDrawn holds that the pages can draw what the table of types asks for, and that types differ without
// their colours.
func TestTypesAreDrawn(t *testing.T) {
	css, err := os.ReadFile("../asset/static/app.css")
	if err != nil {
		t.Fatal(err)
	}
	signs := make(map[string]mail.Type)
	for _, r := range mail.TypeRules() {
		if _, ok := picture.Outlines[r.Shape]; !ok {
			t.Errorf("%s: no outline of a %s", r.Type, r.Shape)
		}
		sign := string(r.Shape) + " " + string(r.Line)
		if other := signs[sign]; other != "" {
			t.Errorf("%s and %s look the same: %s", r.Type, other, sign)
		}
		signs[sign] = r.Type
		for class := range strings.FieldsSeq(words.Badge(r.Type)) {
			if class != "line-solid" && !strings.Contains(string(css), "\n."+class+" ") {
				t.Errorf("%s: the style sheet has no class %s", r.Type, class)
			}
		}
	}
}

// A room of seven agents has arrows, one of eight a table with headers that leads to the conversations.
func TestFlowMatrix(t *testing.T) {
	b := newFixture(t)
	for i := range picture.MatrixFrom {
		if i == picture.MatrixFrom-1 {
			b.Get("/@shop/flow?view=talk").Want(t, 200, `class="edge `).Without(t, `class="matrix`)
		}
		b.Send(mail.Name("agent-"+strconv.Itoa(i+1)), mail.Draft{Subject: "Hello"})
	}
	page := b.Get("/@shop/flow?view=talk").Want(t, 200, `<table class="matrix"`, `scope="col"`, `<th scope="row">`,
		`href="/@shop/history?agent=user&amp;from=agent%3Aagent-8&amp;since=`,
		`aria-label="agent-8 to user: 1 message, 0 read"`).Without(t, `class="edge `, "NaN", "style=")
	if n := strings.Count(page.Body, `scope="col"`); n != picture.MatrixFrom+1+1+4 { // the user, the sums, and the pairs' table
		t.Errorf("%d columns have headers", n)
	}
}

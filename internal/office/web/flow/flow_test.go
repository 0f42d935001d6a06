package flow_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"pennypost/internal/mail"
	"pennypost/internal/office/web/flow"
	"pennypost/internal/office/web/picture"
	"pennypost/internal/office/web/sitetest"
)

func TestFlow(t *testing.T) {
	b := newFixture(t)
	b.Register(mail.Presence{Name: "builder-1", Roles: []string{"builder"}}, mail.Presence{Name: "builder-2"})
	asked := b.Send("builder-1", mail.Draft{Subject: "Which oil?", Type: "question"})
	b.Send(mail.User, mail.Draft{To: mail.Recipients{"builder-1"}, Body: "Rape", Type: "answer", ReplyTo: asked})
	b.Send("builder-2", mail.Draft{To: mail.Recipients{"role:builder"}, Body: "Ready", Type: "status"})

	b.Get("/@shop/flow").Want(t, 200, "Which oil?", `id="flow-`+string(asked)+`"`, `href="/@shop/t/`+string(asked)+
		`#m-`+string(asked)+`"`, "\u2068builder-1\u2069 → \u2068you\u2069", ">answered by user ",
		`class="flow-heads"`, `aria-current="true">day`).Without(t, "style=", "NaN", `class="room-of"`)
	b.Get("/@shop/flow?type=question&w=1h").Want(t, 200, "Which oil?").Without(t, ">Ready<")
	b.Part("/@shop/flow", "flow").Want(t, 200, `<section id="flow"`).Without(t, "<html")
	a := b.Get("/@shop/flow?view=talk").Want(t, 200,
		`href="/@shop/history?agent=user&amp;from=agent%3Abuilder-1&amp;since=`,
		"builder-1 to user: 1 message, 0 read", "<table>", "builder-2 to builder-1: 1 message").Without(t, "NaN")
	if n := strings.Count(a.Body, `class="edge`); n != 3 {
		t.Errorf("%d edges, want 3", n)
	}
	b.Get("/@shop/flow?until=2001-01-01&w=1h").Want(t, 200, "No messages in this period").Without(t,
		"The last message before")
	b.Get("/@shop/flow?until=2100-01-01&w=1h").Want(t, 200, "The last message before")
	for _, query := range []string{"w=2h", "view=pie", "until=soon", "type=gossip"} {
		b.Get("/@shop/flow?"+query).Want(t, 400)
	}
}

// TestFlowCut tests that a picture has a limited number of letters with few elements each, and a link to the others.
func TestFlowCut(t *testing.T) {
	b := newFixture(t)
	for i := range flow.MostLetters + 5 {
		b.Send("builder-1", mail.Draft{Subject: "Number " + strconv.Itoa(i) + "."})
	}
	a := b.Part("/@shop/flow", "flow").Want(t, 200, "The newest 220 messages of this period are shown", "Number 5.",
		"Number 224.").Without(t, "Number 4.")
	if n := strings.Count(a.Body, `class="flow-letter`); n != flow.MostLetters+1 { // and their list
		t.Errorf("%d letters", n)
	}
	if n := len(elements.FindAllString(a.Body, -1)); n > 10*flow.MostLetters {
		t.Errorf("%d letters have %d elements, want at most 10 each", flow.MostLetters, n)
	}
	if first, last := strings.Index(a.Body, "Number 224."), strings.Index(a.Body, "Number 5."); first > last {
		t.Error("the newest letter does not come first")
	}
	b.Get("/@shop/flow?view=talk").Want(t, 200, "builder-1 to user: 225 messages").Without(t, "The newest")
}

// elements matches opening tags.
var elements = regexp.MustCompile(`<[a-z]`)

// TestFlowOfAllRooms tests that the flow of all rooms has each room's letters in columns by room, with links to it.
func TestFlowOfAllRooms(t *testing.T) {
	b := newFixture(t)
	b.AddRoom("other")
	b.Send("builder-1", mail.Draft{Subject: "Here"})
	svc, err := b.Office.Room(t.Context(), "other", "lister")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []mail.Name{"lister", "reader"} {
		if _, err := svc.Register(t.Context(), mail.Presence{Name: name}); err != nil && name == "lister" {
			t.Fatal(err)
		}
	}
	if _, err := svc.Send(t.Context(), mail.Draft{To: mail.Recipients{"user"}, Subject: "There", Body: "?",
		Type: "question"}); err != nil {
		t.Fatal(err)
	}
	b.Get("/@shop/flow").Want(t, 200, "Here").Without(t, "There")
	b.Get("/@shop/flow?rooms=all").Want(t, 200, "Here", "There", `class="room-of">other<`, `class="room-of">shop<`,
		`href="/@other/t/`, " · other", `hx-get="/@shop/flow?rooms=all"`, `class="flow-letter asks"`)
	b.Get("/@shop/flow?rooms=all&view=talk").Want(t, 200, "lister to user: 1 message",
		`href="/@other/history?agent=user&amp;from=agent%3Alister`)
	b.Get("/@shop/flow?view=waiting").Want(t, 200, "No one is waiting")
	b.Get("/@shop/flow?rooms=all&view=waiting").Want(t, 200, "There", `title="in the room other"`)
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

// TestFlowMatrix tests that seven agents have arrows, and eight a table with headers that leads to the conversations.
func TestFlowMatrix(t *testing.T) {
	b := newFixture(t)
	for i := range picture.MatrixFrom {
		if i == picture.MatrixFrom-1 {
			b.Get("/@shop/flow?view=talk").Want(t, 200, `class="edge`).Without(t, `class="matrix`)
		}
		b.Send(mail.Name("agent-"+strconv.Itoa(i+1)), mail.Draft{Subject: "Hello"})
	}
	page := b.Get("/@shop/flow?view=talk").Want(t, 200, `<table class="matrix"`, `scope="col"`, `<th scope="row">`,
		`href="/@shop/history?agent=user&amp;from=agent%3Aagent-8&amp;since=`,
		`aria-label="agent-8 to user: 1 message, 0 read"`).Without(t, `class="edge`, "NaN", "style=")
	if n := strings.Count(page.Body, `scope="col"`); n != picture.MatrixFrom+1+1+4 { // user, sums, table of pairs
		t.Errorf("%d columns have headers", n)
	}
}

// TestHeld tests that the map shows claims and who waits for them.
func TestHeld(t *testing.T) {
	b := newFixture(t)
	b.Get("/@shop/flow?view=held").Want(t, http.StatusOK, "Nothing is claimed.")
	b.Register(mail.Presence{Name: "ann", State: mail.Working}, mail.Presence{Name: "bob"})
	hold := func(who mail.Name, r mail.ClaimRequest) {
		if _, err := b.As(who).Claim(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	var take []mail.Target
	for i := range 15 {
		take = append(take, mail.Target{Root: "1-2", At: "/src", Path: fmt.Sprintf("f%02d.go", i)})
	}
	hold("ann", mail.ClaimRequest{Take: take, Why: "the <lexer>"})
	hold("bob", mail.ClaimRequest{Take: take[14:], Wait: true})
	hold(mail.User, mail.ClaimRequest{Take: []mail.Target{{Name: "build"}}})
	b.Get("/@shop/flow?view=held").Want(t, http.StatusOK, `aria-current="true">Held</a>`, `hx-get="/@shop/flow?view=held"`,
		"<bdi>f14.go</bdi></code> <b><bdi>bob waits for it</bdi></b>", "and 3 more", `<b class="you">You</b>`,
		"<bdi>build</bdi>").Without(t, "f11.go", "<lexer>", "flow-earlier")
}

package mcpserver

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
)

// oddIDs are ids of calls; each must come back exactly.
var oddIDs = []string{
	`-1.5`, `1e3`, `-0`, `1.0`, `12345678901234567890`, `-9007199254740993`, `1e99999`, `7`, `"7"`, `""`, `"a b"`,
	`"\u0041\/"`, `"\n"`, `"<&>"`, `"小"`, `"id-1-LTEuNQ"`, `" "`,
}

// withID returns a call with another id, in either era's form.
func withID(body, id string) string { return strings.Replace(body, `"id":2`, `"id":`+id, 1) }

func TestIDsComeBackOnStdio(t *testing.T) {
	for _, body := range []string{rawCall(2, "whoami"), modernCall(2, "whoami")} {
		synctest.Test(t, func(t *testing.T) {
			p := openPipe(t, t.Context())
			r := bufio.NewReader(p.out)
			go fmt.Fprintf(p.in, "%s\n%s\n", initializeBody, initializedBody)
			nextLine(t, r, "{")
			for _, id := range oddIDs {
				go fmt.Fprintf(p.in, "%s\n", withID(body, id))
				if got := nextLine(t, r, "{"); !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":`+id+`,"result":`) {
					t.Errorf("the id %s is answered %s", id, got)
				}
			}
		})
	}
}

func TestIDsComeBackOverHTTP(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := openOffice(t, HTTPOptions{}, &http.Server{})
		c := o.client(t, "ann")
		session := initialize(t, c)
		for _, id := range oddIDs {
			for _, got := range []reply{
				do(t, c, newRequest(t, "POST", "http://office/mcp", withID(rawCall(2, "whoami"), id), headerSession,
					session)),
				do(t, c, newRequest(t, "POST", "http://office/mcp", withID(modernCall(2, "whoami"), id), headerVersion,
					stateless, "Mcp-Method", "tools/call", "Mcp-Name", "whoami")),
			} {
				if !strings.Contains(got.Body, `{"jsonrpc":"2.0","id":`+id+`,"result":`) {
					t.Errorf("the id %s is answered %d %s", id, got.Status, got.Body)
				}
			}
		}
	})
}

// A notification names a listening client's call by the client's id; a client cancels by its own id.
func TestOddIDsElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := openPipe(t, t.Context())
		r := bufio.NewReader(p.out)
		say := func(line string) { go fmt.Fprintf(p.in, "%s\n", line) }
		say(
			fmt.Sprintf(
				`{"jsonrpc":"2.0","id":-1.5,"method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":[%q]},%s}}`, testURI, modernMeta))
		if got := nextLine(t, r, "{"); !strings.Contains(got, `"io.modelcontextprotocol/subscriptionId":-1.5`) {
			t.Errorf("listening is acknowledged with %s", got)
		}
		say(withID(modernCall(2, "wait"), "2.5"))
		next(t, p.begun, "call")
		say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2.5}}`)
		next(t, p.office.ended, "end of the call")
	})
}

func TestCancelByOddIDOverHTTP(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := openOffice(t, HTTPOptions{}, &http.Server{})
		c := newCaller(t, o)
		c.send("POST", withID(rawCall(2, "wait"), "2.5"))
		next(t, o.begun, "call")
		c.hangUp() // resumeGrace later the call is cancelled by its id
		next(t, o.ended, "end of the call")
	})
}

func TestInvalidIDs(t *testing.T) {
	for _, id := range []string{`{"a":1}`, `[1]`, `true`, `null`} {
		msg, ref := parseMessage([]byte(withID(rawCall(2, "whoami"), id)), "mark-")
		if ref == nil || ref.body.ID != nil || !strings.Contains(ref.body.Error.Message, "string or a number") {
			t.Errorf("a call with the id %s is %+v, %+v; want a refusal without an id", id, msg, ref)
		}
	}
}

func TestIDsInBatches(t *testing.T) {
	m := ids("mark-")
	in := `[{"jsonrpc":"2.0","id":-1.5,"method":"a"},{"jsonrpc":"2.0","id":1,"method":"b"},7]`
	out := m.concealBatch([]byte(in))
	if strings.Contains(string(out), "-1.5") || string(m.outside(out)) != in {
		t.Errorf("a batch is %s inside and %s outside again", out, m.outside(out))
	}
}

// Only ids are replaced, not text that looks like one.
func TestOutside(t *testing.T) {
	m := ids("mark-")
	coded := string(m.inside(json.RawMessage(`1.5`)))
	for in, want := range map[string]string{
		`{"id":` + coded + `}`:              `{"id":1.5}`,
		`{"a":` + coded + `,"b":` + coded:   `{"a":1.5,"b":1.5`,
		`{"text":"\` + coded[:10] + `\" "}`: `{"text":"\` + coded[:10] + `\" "}`,
		`{"a":"mark-!!"}`:                   `{"a":"mark-!!"}`,
		`{"a":"mark-e30"}`:                  `{"a":"mark-e30"}`, // {} is not an id
		`{"a":"mark-`:                       `{"a":"mark-`,
		`nothing`:                           `nothing`,
	} {
		if got := string(m.outside([]byte(in))); got != want {
			t.Errorf("outside(%s) = %s, want %s", in, got, want)
		}
	}
}

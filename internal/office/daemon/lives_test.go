package daemon

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"pennypost/internal/config"
	"pennypost/internal/mail"
	"pennypost/internal/wire"
	"pennypost/internal/wire/client"
)

// stream is a route by which mail passes without a time limit, or by which a client waits for mail. The room is a,
// which has the agent ann.
type stream struct {
	name string
	open func(*testing.T, *holder) *held
}

const waitCall = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"wait_for_messages","arguments":` +
	`{"timeout_seconds":60}%s}}`

// streams returns all of them.
func streams() []stream {
	get := func(path string) func(*testing.T, *holder) *held {
		return func(t *testing.T, h *holder) *held { return h.hold(t, http.MethodGet, path, "", nil) }
	}
	all := []stream{
		{"events", get("/api/v1/rooms/a/events")},
		{"desk", get("/api/v1/desk/events")},
		{"wait", get("/api/v1/rooms/a/wait?timeout=60s")},
		{"ring", func(t *testing.T, h *holder) *held {
			return h.hold(t, http.MethodPost, "/api/v1/rooms/a/ring?timeout=60s", "", nil)
		}},
		{"hook", func(t *testing.T, h *holder) *held {
			if !h.process { // no credential decides whose hook it is
				return refusedAt("hook")
			}
			hook := wire.Hook{As: "ann", Room: "a", Dir: "/"}
			header := map[string]string{}
			for name := range hook.Header() {
				header[name] = hook.Header().Get(name)
			}
			const path, session = "/api/v1/hooks/claude/", `{"session_id":"s","cwd":"/","hook_event_name":`
			for _, event := range []string{"SessionStart", "UserPromptSubmit", "Stop"} {
				h.once(t, http.MethodPost, path+event, session+`"`+event+`"}`, header)
			}
			return h.hold(t, http.MethodPost, path+wire.WaitEvent, session+`"Stop"}`, header)
		}},
		{"pages", get("/@a/events")},
		{"mcp waits in a session", func(t *testing.T, h *holder) *held {
			return h.inMCP(t, "/mcp?room=a", func(in map[string]string) *held {
				return h.hold(t, http.MethodPost, "/mcp?room=a", fmt.Sprintf(waitCall, ""), in)
			})
		}},
		{"mcp waits without a session", func(t *testing.T, h *holder) *held {
			return h.hold(t, http.MethodPost, "/mcp?room=a", fmt.Sprintf(waitCall, `,"_meta":{`+
				`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`),
				map[string]string{"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call",
					"Mcp-Name": "wait_for_messages"})
		}},
		{"calls", func(t *testing.T, h *holder) *held {
			return h.upgrade(t, wire.CallsPath+"a", wire.CallsProtocol, "k "+fmt.Sprintf(waitCall, "")+"\n")
		}},
		{"relay", func(t *testing.T, h *holder) *held { return h.upgrade(t, wire.RelayPath, wire.RelayProtocol, "") }},
	}
	endpoints := []string{"/mcp"}
	for _, d := range Dialects() {
		for _, e := range d.Endpoints {
			endpoints = append(endpoints, strings.NewReplacer("{agent}", "ann", "{workspace}", "ann").Replace(e.Path))
		}
	}
	for _, path := range endpoints {
		all = append(all, stream{path + " listens", func(t *testing.T, h *holder) *held {
			return h.inMCP(t, path+"?room=a", func(in map[string]string) *held {
				h.once(t, http.MethodPost, path+"?room=a", `{"jsonrpc":"2.0","id":3,"method":"resources/subscribe",`+
					`"params":{"uri":"mailbox://a/ann"}}`, in)
				in["Accept"] = "text/event-stream"
				return h.hold(t, http.MethodGet, path+"?room=a", "", in)
			})
		}})
	}
	return all
}

// TestP5_StreamsAreKnown holds that streams has every route that the API documents as event streams.
func TestP5_StreamsAreKnown(t *testing.T) {
	r := start(t, Options{Config: testConfig(t)})
	status, text := r.get(t, "/api/v1/openapi.json", r.token)
	var doc struct {
		Paths map[string]map[string]struct {
			OperationID string `json:"operationId"`
			Responses   map[string]struct {
				Content map[string]any `json:"content"`
			} `json:"responses"`
		} `json:"paths"`
	}
	if err := json.Unmarshal([]byte(text), &doc); err != nil || status != http.StatusOK {
		t.Fatal(status, err)
	}
	var found []string
	for _, methods := range doc.Paths {
		for _, m := range methods {
			if _, ok := m.Responses["200"].Content[wire.Events]; ok {
				found = append(found, m.OperationID)
			}
		}
	}
	slices.Sort(found)
	if want := []string{"deskEvents", "events"}; !slices.Equal(found, want) {
		t.Errorf("the API streams %q, and streams knows %q: add what is missing there", found, want)
	}
}

// credential is a credential that opens streams, or a process that the Unix socket knows.
type credential struct {
	name    string
	get     func(*testing.T, *running) *holder
	opens   string // the streams that it opens, separated by commas; all others refuse it
	endings []ending
	url     string // in [tls]; "": none
}

// ending is a way in which a credential ends.
type ending struct {
	name string
	end  func(*testing.T, *running, *holder)
	code int    // of later calls
	says string // the message that later calls get
	of   string // whose credential ends; "agent": the machine that speaks for it continues
}

const (
	agentStreams = "events,wait,ring,mcp waits in a session,mcp waits without a session,mcps"
	userStreams  = "events,desk,wait"
	ofMachine    = "events,wait,ring,relay" // for an agent
	void         = "pennypost agents token"
)

// credentials returns all kinds of them, with every way in which each ends.
func credentials() []credential {
	retired := func(t *testing.T, r *running, _ *holder) {
		must(t, r.room(t, "a", mail.User).Retire(t.Context(), "ann"))
	}
	removed := func(t *testing.T, r *running, _ *holder) {
		_, err := r.office.RemoveRoom(t.Context(), "a")
		must(t, err)
	}
	renewed := func(t *testing.T, r *running, _ *holder) {
		_, err := r.room(t, "a", mail.User).Token(t.Context(), "ann")
		must(t, err)
	}
	token := []ending{
		{"a new token", renewed, http.StatusUnauthorized, void, ""},
		{"retired", retired, http.StatusUnauthorized, void, ""},
		{"its room removed", removed, http.StatusUnauthorized, void, ""},
	}
	const gone = "there is no agent"
	process := []ending{
		{"retired", retired, http.StatusNotFound, gone, "agent"},
		{"its room removed", removed, http.StatusNotFound, "was removed", "agent"},
	}
	return []credential{
		{"an agent's token over TCP", func(t *testing.T, r *running) *holder {
			return holderAt(t, r.place.HTTP, bearing(r.agentToken(t)))
		}, agentStreams, token, ""},
		{"an agent's token over the Unix socket", func(t *testing.T, r *running) *holder {
			return r.unix(t, bearing(r.agentToken(t)))
		}, agentStreams + ",calls", token, ""},
		{"an agent's process", func(t *testing.T, r *running) *holder {
			h := r.unix(t, asAgent("ann"))
			h.process = true
			return h
		}, agentStreams + ",calls,hook", process, ""},
		{"an agent of a machine", func(t *testing.T, r *running) *holder {
			return r.machine(t, wire.Invite{For: machineTime}, "ann")
		}, ofMachine, append(machineEndings(), process...), ""},
		{"a machine of one agent", func(t *testing.T, r *running) *holder {
			return r.machine(t, wire.Invite{For: machineTime, Agent: "ann"}, "")
		}, ofMachine, append(machineEndings()[:2:2], process...), ""},
		{"a machine", func(t *testing.T, r *running) *holder {
			return r.machine(t, wire.Invite{For: machineTime}, "")
		}, userStreams + ",relay", machineEndings(), ""},
		{"a script", func(t *testing.T, r *running) *holder {
			return r.script(t, "")
		}, userStreams, scriptEndings(), ""},
		{"a script of one room", func(t *testing.T, r *running) *holder {
			return r.script(t, "a")
		}, "events,wait", append(scriptEndings(), process[1]), ""},
		{"a browser", func(t *testing.T, r *running) *holder {
			link := r.link(t, wire.Login{})
			base, _, _ := strings.Cut(link, "/login")
			return logIn(t, r.browser(t), base, link)
		}, "pages", browserEndings(), ""},
		{"a phone", func(t *testing.T, r *running) *holder {
			link, err := r.office.Login(t.Context(), wire.Login{Phone: true})
			must(t, err)
			b := r.browser(t)
			b.Transport.(*http.Transport).TLSClientConfig = &tls.Config{InsecureSkipVerify: true}
			return logIn(t, b, "https://box.example:"+portOf(r.place.HTTPS), link)
		}, "pages", browserEndings(), "https://box.example"},
		{"a browser that a machine has let in", func(t *testing.T, r *running) *holder {
			m := r.joined(t, "laptop-2", wire.Invite{For: machineTime})
			b := m.browser(t, r)
			b.machine = m
			return b
		}, "pages", slices.Concat(browserEndings(), pagesOf(machineEndings())), ""},
	}
}

// machineTime is how long machines are let in, and credentials for scripts are valid, in seconds: long enough to
// open all streams on a busy machine, and short enough to wait for.
const machineTime = 5

// timeOver waits for the end of a credential that is valid for machineTime.
func timeOver(t *testing.T, _ *running, h *holder) {
	time.Sleep(time.Until(h.got.Add(machineTime * time.Second)))
}

func machineEndings() []ending {
	return []ending{
		{"revoked", func(t *testing.T, r *running, _ *holder) {
			must(t, r.office.Revoke(t.Context(), "laptop-2"))
		}, http.StatusUnauthorized, "was revoked", ""},
		{"its time over", timeOver, http.StatusUnauthorized, "the access of the machine", ""},
		{"left", func(t *testing.T, _ *running, h *holder) { must(t, h.machine.Leave(t.Context())) },
			http.StatusUnauthorized, "was revoked", ""},
		{"joined again", func(t *testing.T, r *running, h *holder) { h.machine.again(t, r) },
			http.StatusUnauthorized, "was revoked", ""},
	}
}

// pagesOf returns a machine's endings for a browser that it let in, which is told only of its own session.
func pagesOf(all []ending) []ending {
	for i := range all {
		all[i].says = ""
	}
	return all
}

func scriptEndings() []ending {
	const says = "pennypost credentials add"
	return []ending{
		{"revoked", func(t *testing.T, r *running, _ *holder) {
			must(t, r.office.RevokeCredential(t.Context(), "nightly"))
		}, http.StatusUnauthorized, says, ""},
		{"its time over", timeOver, http.StatusUnauthorized, says, ""},
	}
}

func browserEndings() []ending {
	return []ending{
		{"logged out", func(t *testing.T, _ *running, h *holder) {
			resp, err := h.http.PostForm(h.base+"/logout", nil)
			must(t, err)
			resp.Body.Close()
		}, http.StatusUnauthorized, "", ""},
		{"logged out from the list", func(t *testing.T, r *running, _ *holder) {
			list, err := r.office.Sessions(t.Context())
			must(t, err)
			must(t, r.office.EndSession(t.Context(), list[0].ID))
		}, http.StatusUnauthorized, "", ""},
		{"all logged out", func(t *testing.T, r *running, _ *holder) {
			must(t, r.office.EndSession(t.Context(), ""))
		}, http.StatusUnauthorized, "", ""},
	}
}

// TestP5_CredentialsEnd crosses all streams with every way in which each kind of credential ends: open streams end
// immediately, with the message that every later call gets; no later letter passes, and nothing opens again.
func TestP5_CredentialsEnd(t *testing.T) {
	for _, c := range credentials() {
		for i, e := range c.endings {
			if i == 0 || !testing.Short() {
				t.Run(c.name+"/"+e.name, func(t *testing.T) { c.ends(t, &e) })
			}
		}
	}
}

func (c *credential) ends(t *testing.T, e *ending) {
	cfg := testConfig(t)
	cfg.TLS = config.TLS{Listen: "127.0.0.1:0", URL: c.url}
	r := start(t, Options{Config: cfg})
	r.register(t, "a", "ann")
	_, err := r.room(t, "a", mail.User).AddWorkspace(t.Context(), mail.Workspace{ID: "ann", Dir: t.TempDir()})
	must(t, err)
	h := c.get(t, r)
	all := make(map[string]*held)
	for _, s := range streams() {
		all[s.name] = s.open(t, h)
	}
	time.Sleep(300 * time.Millisecond) // until they all wait, or are refused
	open := c.opened(t, all)
	e.end(t, r, h)
	r.sendLater(t, e)
	status, told, _ := h.once(t, http.MethodGet, c.later(), "", nil)
	if status != e.code || !strings.Contains(told, e.says) {
		t.Errorf("a later call: %d %s, want %d and %q", status, told, e.code, e.says)
	}
	for name, s := range open {
		if name == "relay" && e.of == "agent" {
			continue
		}
		s.over(t, later)
		status, text := s.came()
		if name == "wait" && (status != e.code || text != told) {
			t.Errorf("the wait ended with %d %s, later ones are told %s", status, text, told)
		} else if name == "mcp waits without a session" && !strings.Contains(text, e.says) {
			t.Errorf("%s ended with %d %s, want %q", name, status, text, e.says)
		}
	}
	for _, s := range streams() {
		again := s.open(t, h)
		if h.process || s.name == "relay" && e.of == "agent" { // it may come again, as a newcomer
			continue
		}
		again.over(t, later)
		if status, text := again.came(); status < http.StatusBadRequest {
			t.Errorf("%s opens again: %d %.200s", s.name, status, text)
		}
	}
}

// opened returns the streams that continue, and expects them to be those that the credential opens.
func (c *credential) opened(t *testing.T, all map[string]*held) map[string]*held {
	t.Helper()
	open := make(map[string]*held)
	want := strings.Split(c.opens, ",")
	for name, s := range all {
		opens := slices.Contains(want, name) ||
			strings.HasSuffix(name, " listens") && slices.Contains(want, "mcps")
		if !opens { // on a busy machine a refusal takes a while
			select {
			case <-s.ended:
			case <-time.After(soon):
			}
		}
		select {
		case <-s.ended:
			if status, text := s.came(); opens {
				t.Errorf("%s ends by itself: %d %.200s", name, status, text)
			}
		default:
			if !opens {
				t.Errorf("%s is open", name)
			}
			open[name] = s
		}
	}
	if len(open) == 0 {
		t.Errorf("nothing is open, of %q", slices.Sorted(maps.Keys(all)))
	}
	return open
}

// later returns the message for calls after the end.
func (c *credential) later() string {
	if c.opens == "pages" {
		return "/@a/events"
	}
	return "/api/v1/rooms/a/wait?timeout=1ms"
}

// later is in letters that are sent after the end.
const later = "LATER-LETTER"

// sendLater sends letters that would reach every stream that is still open.
func (r *running) sendLater(t *testing.T, e *ending) {
	t.Helper()
	if e.name == "its room removed" {
		return // that would make it again
	}
	user := r.room(t, "a", mail.User)
	for _, to := range []string{"ann", "user"} {
		_, err := user.Send(t.Context(), mail.Draft{To: mail.Recipients{to}, Subject: later, Body: later})
		if err != nil && (e.name != "retired" || to == "user") { // no one is called ann any more
			t.Fatal(err)
		}
	}
}

func (r *running) agentToken(t *testing.T) string {
	t.Helper()
	token, err := r.room(t, "a", mail.User).Token(t.Context(), "ann")
	must(t, err)
	return token
}

// machine lets a machine in, and returns it as an agent's, or as itself.
func (r *running) machine(t *testing.T, ask wire.Invite, agent mail.Name) *holder {
	t.Helper()
	m := r.joined(t, "laptop-2", ask)
	h := holderAt(t, m.url, func(header http.Header) {
		header.Set("Authorization", "Bearer "+m.Token)
		if agent != "" {
			wire.SetAgent(header, agent)
		}
	})
	h.http, h.machine = *m.http, m
	return h
}

// script makes a credential for scripts, for one room or for all.
func (r *running) script(t *testing.T, room mail.RoomName) *holder {
	t.Helper()
	made, err := r.office.AddCredential(t.Context(), wire.NewCredential{Name: "nightly", Room: room, For: machineTime})
	must(t, err)
	return holderAt(t, r.place.HTTP, bearing(made.Token))
}

// browser logs a browser in by a link that the machine asks for.
func (m *machine) browser(t *testing.T, r *running) *holder {
	t.Helper()
	link, err := m.Login(t.Context(), wire.Login{})
	must(t, err)
	b := r.browser(t)
	b.Transport = m.http.Transport
	return logIn(t, b, m.url, link)
}

// logIn logs b in by a link to an address.
func logIn(t *testing.T, b *http.Client, base, link string) *holder {
	t.Helper()
	_, key, _ := strings.Cut(link, "key=")
	resp, err := b.PostForm(base+"/login", url.Values{"key": {key}})
	must(t, err)
	resp.Body.Close()
	if len(resp.Cookies()) == 0 {
		t.Fatalf("the link logs nobody in: %d", resp.StatusCode)
	}
	h := holderAt(t, base, func(http.Header) {})
	h.http = *b
	return h
}

// again makes the machine join again, and returns its new state.
func (m *machine) again(t *testing.T, r *running) *machine {
	t.Helper()
	made, code := r.invite(t, wire.Invite{})
	in, err := m.Join(t.Context(), wire.Join{Secret: code.Secret.String(), Machine: m.Machine})
	if err != nil {
		t.Fatal(err)
	}
	n := &machine{Joined: in, url: made.URL, http: m.http}
	n.Office, err = client.New(client.Options{URL: made.URL, Token: in.Token,
		TLS: m.http.Transport.(*http.Transport).TLSClientConfig})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.Office.Close)
	return n
}

// TestMachineJoinsAgain holds that the end of a machine's old life logs out the browsers that logged in through it,
// but none that logs in through the new one, however soon.
func TestMachineJoinsAgain(t *testing.T) {
	r := startTLS(t)
	m := r.joined(t, "laptop-2", wire.Invite{})
	for range 20 {
		old := m.browser(t, r)
		unused, err := m.Login(t.Context(), wire.Login{})
		if err != nil {
			t.Fatal(err)
		}
		m = m.again(t, r)
		link, err := m.Login(t.Context(), wire.Login{}) // before anything else has happened there
		if err != nil {
			t.Fatal(err)
		}
		b := r.browser(t)
		b.Transport = m.http.Transport
		now := logIn(t, b, m.url, link)
		time.Sleep(10 * time.Millisecond)
		if status, _, _ := now.once(t, http.MethodGet, "/", "", nil); status != http.StatusOK {
			t.Fatalf("the browser of the new life: %d", status)
		}
		if status, _, _ := old.once(t, http.MethodGet, "/", "", nil); status != http.StatusUnauthorized {
			t.Fatalf("the browser of the old life: %d", status)
		}
		_, key, _ := strings.Cut(unused, "key=")
		stranger := r.browser(t)
		stranger.Transport = m.http.Transport
		resp, err := stranger.PostForm(m.url+"/login", url.Values{"key": {key}})
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if len(resp.Cookies()) != 0 {
			t.Fatal("a link of the old life logs in")
		}
	}
}

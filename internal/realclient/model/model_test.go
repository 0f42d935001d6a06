package model

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

// protocol is a small client of one API: its path and requests.
type protocol struct {
	name, path string
	// body is a request with one prompt, or, if result is not "", also with the call of a tool and its result.
	body func(prompt, result string, stream bool) string
}

const toolSchema = `{"type":"object","properties":{"id":{"type":"string"},"loud":{"type":"boolean"}},` +
	`"required":["id","loud"]}`

func protocols() []protocol {
	return []protocol{
		{"anthropic", "/v1/messages", func(prompt, result string, stream bool) string {
			var more string
			if result != "" {
				more = `,{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"x","input":{}}]},` +
					`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":` +
					result + `}]}]}`
			}
			return fmt.Sprintf(`{"model":"m","stream":%t,"system":[{"type":"text","text":"be good"}],"messages":[`+
				`{"role":"user","content":[{"type":"text","text":%s}]}%s],`+
				`"tools":[{"name":"mcp__post__read_mail","input_schema":%s}]}`, stream, prompt, more, toolSchema)
		}},
		{"responses", "/v1/responses", func(prompt, result string, stream bool) string {
			var more string
			if result != "" {
				more = `,{"type":"function_call","call_id":"c","name":"x","arguments":"{}"},` +
					`{"type":"function_call_output","call_id":"c","output":` + result + `}`
			}
			return fmt.Sprintf(`{"model":"m","stream":%t,"instructions":"be good","input":[{"type":"message",`+
				`"role":"user","content":[{"type":"input_text","text":%s}]}%s],"tools":[{"type":"namespace",`+
				`"name":"mcp__post","tools":[{"type":"function","name":"read_mail","parameters":%s}]}]}`,
				stream, prompt, more, toolSchema)
		}},
		{"chat", "/v1/chat/completions", func(prompt, result string, stream bool) string {
			var more string
			if result != "" {
				more = `,{"role":"assistant","content":null,"tool_calls":[{"id":"c","function":{"name":"x"}}]},` +
					`{"role":"tool","tool_call_id":"c","content":` + result + `}`
			}
			return fmt.Sprintf(`{"model":"m","stream":%t,"messages":[{"role":"system","content":"be good"},`+
				`{"role":"user","content":%s}%s],"tools":[{"type":"function","function":{"name":"post_read_mail",`+
				`"parameters":%s}}]}`, stream, prompt, more, toolSchema)
		}},
		{"gemini", "/v1beta/models/m:%s", func(prompt, result string, _ bool) string {
			var more string
			if result != "" {
				more = `,{"role":"model","parts":[{"functionCall":{"name":"x","args":{}}}]},` +
					`{"role":"user","parts":[{"functionResponse":{"name":"x","response":{"output":` + result + `}}}]}`
			}
			return fmt.Sprintf(`{"systemInstruction":{"parts":[{"text":"be good"}]},"contents":[{"role":"user",`+
				`"parts":[{"text":%s}]}%s],"tools":[{"functionDeclarations":[{"name":"mcp_post_read_mail",`+
				`"parametersJsonSchema":%s}]}]}`, prompt, more, toolSchema)
		}},
	}
}

func (p protocol) url(s *Server, stream bool) string {
	if !strings.Contains(p.path, "%s") {
		return s.URL + p.path
	}
	if stream {
		return s.URL + fmt.Sprintf(p.path, "streamGenerateContent") + "?alt=sse"
	}
	return s.URL + fmt.Sprintf(p.path, "generateContent")
}

func started(t *testing.T) *Server {
	t.Helper()
	s, err := Start(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func post(t *testing.T, url, body string) (status int, answer string) {
	t.Helper()
	if !json.Valid([]byte(body)) {
		t.Fatalf("no JSON: %s", body)
	}
	res, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(raw)
}

func quote(s string) string { return string(mustJSON(s)) }

// TestProtocols checks, for each protocol, whole and streamed, that a script is obeyed step by step, and that the
// conversation and the tools are parsed.
func TestProtocols(t *testing.T) {
	const script = `number id="m7" [[tool read_mail {"id":"{{id=\"(\\w+)\"}}"}]] [[say well done]]`
	for _, p := range protocols() {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/stream=%t", p.name, stream), func(t *testing.T) {
				s := started(t)
				_, answer := post(t, p.url(s, stream), p.body(quote(script), "", stream))
				plain := strings.ReplaceAll(answer, `\`, "")
				if !strings.Contains(plain, "read_mail") || !strings.Contains(plain, `"id":"m7"`) ||
					!strings.Contains(plain, `"loud":false`) {
					t.Errorf("the first step: %s", answer)
				}
				_, answer = post(t, p.url(s, stream), p.body(quote(script), quote("mail & <more>"), stream))
				if !strings.Contains(answer, "well done") {
					t.Errorf("the second step: %s", answer)
				}
				if stream != strings.HasPrefix(strings.TrimPrefix(answer, "event: "), "data:") &&
					!strings.HasPrefix(answer, "event:") {
					t.Errorf("streamed is %t: %s", !stream, answer)
				}
				last := s.Requests()[1]
				if got := last.Parts; len(got) != 4 || got[0] != (Part{System, "be good"}) || got[1].Text != script ||
					got[2].Role != Assistant || got[3] != (Part{Result, "mail & <more>"}) {
					t.Errorf("the conversation is %q", got)
				}
				if !last.Offers("read_mail") || last.Offers("write_mail") {
					t.Errorf("the tools are %v", last.Tools)
				}
			})
		}
	}
}

// TestScripts checks how scripts are parsed.
func TestScripts(t *testing.T) {
	steps := parseScript(`do [[sleep 0.5]] [[hold a]] [[tool Agent {"prompt":"[[sh ls]] [[say [x]]]"}]] and ` +
		`[[sh test [ a = a ]]] [[what]] [[fail 529]] [[say bye]]`)
	var got []string
	for _, s := range steps {
		got = append(got, fmt.Sprintf("%v %v %s %s %s", s.delay, s.holds, s.verb, s.arg, s.input))
	}
	want := []string{
		`500ms [a] tool Agent {"prompt":"[[sh ls]] [[say [x]]]"}`, "0s [] sh test [ a = a ", "0s [] fail 529 ",
		"0s [] say bye ",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("the steps are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestHoldAndEsc checks that a held answer is sent when it is released, and that a script whose client did not wait
// is not obeyed again.
func TestHoldAndEsc(t *testing.T) {
	s := started(t)
	p := protocols()[0]
	answered := make(chan string)
	go func() {
		res, err := http.Post(p.url(s, true), "",
			strings.NewReader(p.body(quote("[[hold a]] [[say free]]"), "", true)))
		if err != nil {
			answered <- err.Error()
			return
		}
		defer res.Body.Close()
		raw, _ := io.ReadAll(res.Body)
		answered <- string(raw)
	}()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := s.Wait(ctx, func(r *Request) bool { return r.Has("[[hold a]]") }); err != nil {
		t.Fatal(err)
	}
	s.Release("a")
	if got := <-answered; !strings.Contains(got, "free") {
		t.Errorf("the answer is %s", got)
	}

	body := p.body(quote("[[hold b]] [[say never]]"), "", true)
	asking, esc := context.WithCancel(ctx)
	q, err := http.NewRequestWithContext(asking, http.MethodPost, p.url(s, true), bytes.NewReader([]byte(body)))
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	esc()
	res.Body.Close()
	if _, err := s.Wait(ctx, func(r *Request) bool { return r.HungUp }); err != nil {
		t.Fatal(err)
	}
	if _, answer := post(t, p.url(s, false), p.body(quote("[[hold b]] [[say never]]"), "", false)); strings.Contains(
		answer, "never") {
		t.Errorf("the script is obeyed again: %s", answer)
	}
}

// TestSideRequests checks requests outside a conversation: lists, counts, titles, and unknown paths.
func TestSideRequests(t *testing.T) {
	s := started(t)
	for _, c := range []struct {
		path, body string
		status     int
		want       string
	}{
		{"/v1/messages/count_tokens", `{"messages":[]}`, 200, "input_tokens"},
		{"/v1beta/models/m:countTokens", `{"contents":[]}`, 200, "totalTokens"},
		{"/v1/messages", `{"messages":[{"role":"user","content":"a title for [[say no]]"}]}`, 200, `"ok"`},
		{"/v1/messages", `{"messages":[{"role":"user","content":"[[fail 529]]"}],"tools":[{"name":"x"}]}`, 529,
			"scripted"},
		{"/v1/nothing", `{}`, 404, "has no /v1/nothing"},
	} {
		if status, got := post(t, s.URL+c.path, c.body); status != c.status || !strings.Contains(got, c.want) {
			t.Errorf("POST %s: %d %s", c.path, status, got)
		}
	}
	res, err := http.Get(s.URL + "/v1/models")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if raw, _ := io.ReadAll(res.Body); !strings.Contains(string(raw), "scripted") {
		t.Errorf("the models are %s", raw)
	}
	if files, _ := os.ReadDir(s.dir); len(files) != 3 {
		t.Errorf("%d requests were written, want 3", len(files))
	}
}

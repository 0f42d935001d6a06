package hook

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pennypost/internal/mail"
)

// line is a transcript line as Claude Code 2.1.330 writes it; told is one with hook output.
func line(id, parent, rest string) string {
	return fmt.Sprintf(`{"parentUuid":%q,"isSidechain":false,"uuid":%q,%s}`, parent, id, rest) + "\n"
}

func told(id, parent string, m mail.ID) string {
	return line(id, parent, `"type":"attachment","attachment":{"type":"hook_additional_context","content":["Pennypost: `+
		`1 message\n<mail-abc from=\"bob\" id=\"`+string(m)+`\" type=\"question\">\nhello\n</mail-abc>"]}`)
}

func TestHolds(t *testing.T) {
	const (
		prompt    = `"type":"user","promptSource":"typed","message":{"role":"user","content":"go on"}`
		answer    = `"type":"assistant","message":{"content":[{"type":"text","text":"yes"}]}`
		result    = `"type":"user","message":{"content":[{"type":"tool_result","content":"id=\\\"msg_of_a_tool\\\""}]}`
		stopped   = `"type":"user","interruptedMessageId":"m","message":{"content":[{"text":"[Request interrupted by user]"}]}`
		noise     = `{"type":"last-prompt","leafUuid":"x"}` + "\n" + `{"type":"mode","mode":"normal"}` + "\n"
		sidechain = `{"parentUuid":"b","isSidechain":true,"uuid":"z","type":"assistant"}` + "\n"
	)
	first := told("a", "", "msg_start") + line("b", "a", prompt) + noise + told("c", "b", "msg_prompt")
	for _, tt := range []struct {
		name, text string
		starts     bool
		want       string
	}{
		{name: "nothing", want: ""},
		{name: "no answer: it may be taken back", text: first, want: "msg_start"},
		{name: "no answer, and the session goes on", text: first, starts: true, want: "msg_prompt msg_start"},
		{name: "a subagent's answer is none", text: first + sidechain, want: "msg_start"},
		{name: "an answer", text: first + line("d", "c", answer), want: "msg_prompt msg_start"},
		{name: "a tool", text: first + line("d", "c", answer) + line("e", "d", result) + told("f", "e", "msg_tool"),
			want: "msg_prompt msg_start msg_tool"},
		{name: "broken off", text: first + line("d", "c", stopped), want: "msg_prompt msg_start"},
		{name: "taken back, and another", text: first + line("d", "a", prompt) + line("e", "d", answer),
			want: "msg_start"},
		{name: "summed up", text: first + line("d", "c", answer) + line("s", "", `"type":"system"`) +
			told("t", "s", "msg_summed"), want: "msg_summed"},
		{name: "torn", text: first + line("d", "c", answer) + `{"uuid":"q","parentUu`, want: "msg_prompt msg_start"},
		{name: "a circle", text: told("a", "b", "msg_a") + told("b", "a", "msg_b") + line("c", "b", answer),
			want: "msg_a msg_b"},
		{name: "rubbish", text: "\x00\xff{}[]\n\"uuid\"\n{\"uuid\":3}\n", want: ""},
	} {
		path := filepath.Join(t.TempDir(), "transcript.jsonl")
		if err := os.WriteFile(path, []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, id := range slices.Sorted(maps.Keys(Holds("claude", path, tt.starts))) {
			got = append(got, string(id))
		}
		if s := strings.Join(got, " "); s != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, s, tt.want)
		}
	}
	if got := Holds("claude", filepath.Join(t.TempDir(), "none"), true); got != nil {
		t.Errorf("a transcript that is not there holds %v", got)
	}
}

// The conversations of other clients hold hook output, each in its own format, until they are summarised.
func TestHoldsOthers(t *testing.T) {
	letter := func(open, shut string, id mail.ID) string {
		return `Pennypost: 1 message\n` + open + `mail-abc origin=\"user\" from=\"user\" id=\"` + string(id) +
			`\" type=\"question\"` + shut + `\nhello\n` + open + `/mail-abc` + shut
	}
	say := func(id mail.ID) string { return letter("<", ">", id) }
	escaped := func(id mail.ID) string { return letter("&lt;", "&gt;", id) }
	codex := func(typ, text string) string {
		return `{"timestamp":"t","type":"` + typ + `","payload":{"type":"message","content":[{"text":"` + text +
			`"}]}}` + "\n"
	}
	tree := func(id, parent, typ, text string) string {
		return `{"uuid":"` + id + `","parentUuid":"` + parent + `",` + typ + `,"text":"` + text + `"}` + "\n"
	}
	pi := func(id, parent, typ, text string) string {
		return `{"type":"` + typ + `","id":"` + id + `","parentId":"` + parent + `","content":"` + text + `"}` + "\n"
	}
	for _, tt := range []struct{ name, client, text, want string }{
		{"a prompt and a tool", "codex", codex("response_item", say("msg_a")) + codex("event_msg", say("msg_x")) +
			codex("response_item", letter(`\u003c`, `\u003e`, "msg_b")), "msg_a msg_b"},
		{"summed up", "codex", codex("response_item", say("msg_a")) + codex("compacted", "sum") +
			codex("response_item", say("msg_b")), "msg_b"},
		{"rolled back", "codex", codex("response_item", say("msg_a")) +
			`{"type":"event_msg","payload":{"type":"thread_rolled_back","num_turns":1}}` + "\n", ""},
		{"a prompt and a tool", "qwen", tree("a", "", `"type":"user"`, escaped("msg_a")) +
			tree("b", "a", `"type":"assistant"`, escaped("msg_x")) +
			tree("c", "b", `"type":"tool_result"`, escaped("msg_b")), "msg_a msg_b"},
		{"summed up", "qwen", tree("a", "", `"type":"user"`, escaped("msg_a")) +
			tree("b", "a", `"type":"system","subtype":"chat_compression"`, ""), ""},
		{"a prompt and a tool", "pi", `{"type":"session","id":"s"}` + "\n" + pi("a", "", "custom_message", say("msg_a")) +
			pi("b", "a", "message", say("msg_b")), "msg_a msg_b"},
		{"another branch", "pi", pi("a", "", "custom_message", say("msg_a")) + pi("b", "", "message", say("msg_b")),
			"msg_b"},
		{"summed up", "pi", pi("a", "", "message", say("msg_a")) + pi("b", "a", "compaction", "sum"), ""},
		{"a prompt and a tool", "copilot", `{"type":"user.message","data":{"transformedContent":"` + say("msg_a") +
			`"},"id":"a","parentId":"s"}` + "\n" + `{"type":"hook.end","data":{"output":"` + say("msg_x") +
			`"},"id":"b","parentId":"a"}` + "\n" + `{"type":"tool.execution_complete","data":{"result":"` + say("msg_b") +
			`"},"id":"c","parentId":"b"}` + "\n", "msg_a msg_b"},
		{"a pointer is no text", "codex", codex("response_item", `<mail-abc origin=\"agent\" from=\"agent:bob\" `+
			`id=\"msg_long\" body=\"not shown\"></mail-abc>\n`+say("msg_a")), "msg_a"},
		{"mail that names another", "codex", codex("response_item", `<mail-abc origin=\"agent\" from=\"agent:bob\" `+
			`id=\"msg_a\">\n id=\"msg_x\">\n&lt mail-abc id=\"msg_y\"\n</mail-abc>`), "msg_a"},
	} {
		path := filepath.Join(t.TempDir(), "transcript.jsonl")
		if err := os.WriteFile(path, []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, id := range slices.Sorted(maps.Keys(Holds(tt.client, path, false))) {
			got = append(got, string(id))
		}
		if s := strings.Join(got, " "); s != tt.want {
			t.Errorf("%s of %s: %q, want %q", tt.name, tt.client, s, tt.want)
		}
		if tt.client == "copilot" { // a resumed session forgets the text told with a prompt
			if held := Holds(tt.client, path, true); !held["msg_b"] || held["msg_a"] {
				t.Errorf("a resumed session of copilot holds %v", held)
			}
		}
	}
}

func FuzzHolds(f *testing.F) {
	f.Add([]byte(told("a", "", "msg_start")), true)
	f.Fuzz(func(t *testing.T, text []byte, starts bool) {
		for _, c := range Clients() {
			if c.recall != nil {
				conv := readConversation(bytes.NewReader(text), c.recall)
				conv.holds(starts)
			}
		}
	})
}

package hook

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pennypost/internal/mail"
)

// line is a line of a transcript as Claude Code 2.1.330 writes it, and told one with what a hook told.
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

func FuzzHolds(f *testing.F) {
	f.Add([]byte(told("a", "", "msg_start")), true)
	f.Fuzz(func(t *testing.T, text []byte, starts bool) {
		c := readConversation(strings.NewReader(string(text)))
		c.holds(starts)
	})
}

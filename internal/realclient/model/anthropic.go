package model

import (
	"encoding/json"
	"fmt"
	"strings"
)

// anthropic is Anthropic's Messages API (docs.anthropic.com, version 2023-06-01).
func anthropic() api {
	return api{read: readMessages, whole: wholeMessage, stream: streamMessage}
}

func readMessages(r *Request) error {
	var b struct {
		System   json.RawMessage `json:"system"`
		Messages []struct {
			Role    Role            `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
		Tools []struct {
			Name   string         `json:"name"`
			Schema map[string]any `json:"input_schema"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(r.Body, &b); err != nil {
		return err
	}
	if len(b.System) > 0 {
		r.Parts = append(r.Parts, Part{System, content(b.System)})
	}
	for _, m := range b.Messages {
		if m.Role == Assistant {
			r.Parts = append(r.Parts, Part{Assistant, string(m.Content)})
			continue
		}
		r.Parts = append(r.Parts, userParts(m.Content)...)
	}
	for _, t := range b.Tools {
		if t.Schema == nil {
			t.Schema = map[string]any{} // a tool that the server runs
		}
		r.Tools = append(r.Tools, Tool{Name: t.Name, Schema: t.Schema})
	}
	return nil
}

// userParts separates the tool results from the texts of a user's message.
func userParts(raw json.RawMessage) []Part {
	var blocks []json.RawMessage
	if json.Unmarshal(raw, &blocks) != nil {
		return []Part{{User, content(raw)}}
	}
	var parts []Part
	for _, raw := range blocks {
		var b struct {
			Type    string          `json:"type"`
			Text    string          `json:"text"`
			Content json.RawMessage `json:"content"`
		}
		_ = json.Unmarshal(raw, &b) // a block with none of these has no text
		if b.Type == "tool_result" {
			parts = append(parts, Part{Result, content(b.Content)})
		} else {
			parts = append(parts, Part{User, b.Text})
		}
	}
	return parts
}

// messageBlock returns an answer as a block of a message.
func messageBlock(r *Request, say string, c *call) (block map[string]any, stop string) {
	if c == nil {
		return map[string]any{"type": "text", "text": say}, "end_turn"
	}
	return map[string]any{"type": "tool_use", "id": fmt.Sprintf("toolu_%06d", r.N), "name": c.name,
		"input": c.input}, "tool_use"
}

func message(r *Request) map[string]any {
	return map[string]any{
		"id": fmt.Sprintf("msg_%06d", r.N), "type": "message", "role": "assistant", "model": requested(r),
		"content": []any{}, "stop_reason": nil, "stop_sequence": nil, "usage": messageUsage(),
	}
}

func messageUsage() map[string]int {
	return map[string]int{"input_tokens": 10, "output_tokens": 10, "cache_creation_input_tokens": 0,
		"cache_read_input_tokens": 0}
}

func wholeMessage(r *Request, say string, c *call) any {
	block, stop := messageBlock(r, say, c)
	m := message(r)
	m["content"], m["stop_reason"] = []any{block}, stop
	return m
}

func streamMessage(r *Request, event func(string, any), wait func(func()) bool, say string, c *call) {
	send := func(kind string, v map[string]any) {
		v["type"] = kind
		event(kind, v)
	}
	send("message_start", map[string]any{"message": message(r)})
	if !wait(func() { send("ping", map[string]any{}) }) {
		return
	}
	block, stop := messageBlock(r, say, c)
	delta := map[string]any{"type": "text_delta", "text": say}
	if c != nil {
		delta = map[string]any{"type": "input_json_delta", "partial_json": string(c.input)}
		block["input"] = map[string]any{}
	} else {
		block["text"] = ""
	}
	send("content_block_start", map[string]any{"index": 0, "content_block": block})
	send("content_block_delta", map[string]any{"index": 0, "delta": delta})
	send("content_block_stop", map[string]any{"index": 0})
	send("message_delta", map[string]any{"delta": map[string]any{"stop_reason": stop, "stop_sequence": nil},
		"usage": messageUsage()})
	send("message_stop", map[string]any{})
}

// requested is the model that the client asked for.
func requested(r *Request) string {
	var b struct {
		Model string `json:"model"`
	}
	_ = json.Unmarshal(r.Body, &b)
	if b.Model == "" { // Gemini has it in the path
		_, b.Model, _ = strings.Cut(r.Path, "/models/")
		b.Model, _, _ = strings.Cut(b.Model, ":")
	}
	return b.Model
}

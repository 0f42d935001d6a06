package model

import (
	"encoding/json"
	"fmt"
	"strings"
)

// openAITool is a tool in both of OpenAI's protocols, or a namespace of tools.
type openAITool struct {
	Type       string         `json:"type"`
	Name       string         `json:"name"`
	Parameters map[string]any `json:"parameters"`
	Function   *openAITool    `json:"function"`
	Tools      []openAITool   `json:"tools"`
}

func openAITools(in []openAITool, space string) []Tool {
	var out []Tool
	for _, t := range in {
		switch {
		case t.Type == "namespace":
			out = append(out, openAITools(t.Tools, t.Name)...)
			continue
		case t.Function != nil:
			t = *t.Function
		}
		if t.Name == "" {
			t.Name = t.Type // a tool that the server runs
		}
		if t.Parameters == nil {
			t.Parameters = map[string]any{}
		}
		out = append(out, Tool{Name: t.Name, Schema: t.Parameters, space: space})
	}
	return out
}

// openAIRole says who wrote a message. A developer message may be a hook's text, and a script.
func openAIRole(role string) Role {
	switch role {
	case "system", "assistant":
		return Role(role)
	case "tool":
		return Result
	}
	return User
}

// responses is OpenAI's Responses API.
func responses() api {
	return api{read: readResponses, whole: wholeResponse, stream: streamResponse}
}

func readResponses(r *Request) error {
	var b struct {
		Instructions string          `json:"instructions"`
		Input        json.RawMessage `json:"input"`
		Tools        []openAITool    `json:"tools"`
	}
	if err := json.Unmarshal(r.Body, &b); err != nil {
		return err
	}
	r.Tools = openAITools(b.Tools, "")
	if b.Instructions != "" {
		r.Parts = append(r.Parts, Part{System, b.Instructions})
	}
	var items []struct {
		Type    string          `json:"type"`
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
		Output  json.RawMessage `json:"output"`
		Name    string          `json:"name"`
		Args    string          `json:"arguments"`
	}
	if json.Unmarshal(b.Input, &items) != nil {
		r.Parts = append(r.Parts, Part{User, content(b.Input)})
		return nil
	}
	for _, it := range items {
		switch {
		case strings.HasSuffix(it.Type, "_output"):
			r.Parts = append(r.Parts, Part{Result, content(it.Output)})
		case strings.HasSuffix(it.Type, "_call"):
			r.Parts = append(r.Parts, Part{Assistant, it.Name + " " + it.Args})
		case it.Role != "":
			r.Parts = append(r.Parts, Part{openAIRole(it.Role), content(it.Content)})
		}
	}
	return nil
}

func responseItem(r *Request, say string, c *call) map[string]any {
	if c == nil {
		return map[string]any{"type": "message", "id": fmt.Sprintf("msg_%d", r.N), "role": "assistant",
			"status":  "completed",
			"content": []any{map[string]any{"type": "output_text", "text": say, "annotations": []any{}}}}
	}
	it := map[string]any{"type": "function_call", "id": fmt.Sprintf("fc_%d", r.N),
		"call_id": fmt.Sprintf("call_%d", r.N),
		"name":    c.name, "arguments": string(c.input), "status": "completed"}
	if c.space != "" {
		it["namespace"] = c.space
	}
	return it
}

func response(r *Request, status string, output []any) map[string]any {
	return map[string]any{
		"id": fmt.Sprintf("resp_%d", r.N), "object": "response", "created_at": r.At.Unix(), "status": status,
		"model": requested(r), "output": output,
		"usage": map[string]any{"input_tokens": 10, "input_tokens_details": map[string]int{"cached_tokens": 0},
			"output_tokens": 10, "output_tokens_details": map[string]int{"reasoning_tokens": 0}, "total_tokens": 20},
	}
}

func wholeResponse(r *Request, say string, c *call) any {
	return response(r, "completed", []any{responseItem(r, say, c)})
}

func streamResponse(r *Request, event func(string, any), wait func(func()) bool, say string, c *call) {
	send := func(kind string, v map[string]any) {
		v["type"] = kind
		event(kind, v)
	}
	begun := response(r, "in_progress", []any{})
	send("response.created", map[string]any{"response": begun})
	if !wait(func() { send("response.in_progress", map[string]any{"response": begun}) }) {
		return
	}
	started, done := responseItem(r, say, c), responseItem(r, say, c)
	started["status"] = "in_progress"
	if c == nil {
		started["content"] = []any{}
	} else {
		started["arguments"] = ""
	}
	send("response.output_item.added", map[string]any{"output_index": 0, "item": started})
	if c == nil {
		send("response.output_text.delta", map[string]any{"item_id": done["id"], "output_index": 0,
			"content_index": 0, "delta": say})
	}
	send("response.output_item.done", map[string]any{"output_index": 0, "item": done})
	send("response.completed", map[string]any{"response": response(r, "completed", []any{done})})
}

// chat is OpenAI's Chat Completions API, which many providers speak.
func chat() api {
	return api{read: readChat, whole: wholeChat, stream: streamChat}
}

func readChat(r *Request) error {
	var b struct {
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
			Calls   json.RawMessage `json:"tool_calls"`
		} `json:"messages"`
		Tools []openAITool `json:"tools"`
	}
	if err := json.Unmarshal(r.Body, &b); err != nil {
		return err
	}
	for _, m := range b.Messages {
		r.Parts = append(r.Parts, Part{openAIRole(m.Role), content(m.Content) + string(m.Calls)})
	}
	r.Tools = openAITools(b.Tools, "")
	return nil
}

func chatMessage(r *Request, say string, c *call) (m map[string]any, why string) {
	if c == nil {
		return map[string]any{"role": "assistant", "content": say}, "stop"
	}
	return map[string]any{"role": "assistant", "content": nil, "tool_calls": []any{map[string]any{
		"index": 0, "id": fmt.Sprintf("call_%d", r.N), "type": "function",
		"function": map[string]any{"name": c.name, "arguments": string(c.input)},
	}}}, "tool_calls"
}

func chatUsage() map[string]int {
	return map[string]int{"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20}
}

func wholeChat(r *Request, say string, c *call) any {
	m, why := chatMessage(r, say, c)
	return map[string]any{"id": fmt.Sprintf("c%d", r.N), "object": "chat.completion", "created": r.At.Unix(),
		"model": requested(r), "choices": []any{map[string]any{"index": 0, "message": m, "finish_reason": why}},
		"usage": chatUsage()}
}

func streamChat(r *Request, event func(string, any), wait func(func()) bool, say string, c *call) {
	chunk := func(choices []any, usage any) {
		event("", map[string]any{"id": fmt.Sprintf("c%d", r.N), "object": "chat.completion.chunk",
			"created": r.At.Unix(), "model": requested(r), "choices": choices, "usage": usage})
	}
	choice := func(delta, why any) []any {
		return []any{map[string]any{"index": 0, "delta": delta, "finish_reason": why}}
	}
	if !wait(func() { chunk(choice(map[string]any{"role": "assistant", "content": ""}, nil), nil) }) {
		return
	}
	m, why := chatMessage(r, say, c)
	chunk(choice(m, nil), nil)
	chunk(choice(map[string]any{}, why), nil)
	chunk([]any{}, chatUsage())
	event("", "[DONE]")
}

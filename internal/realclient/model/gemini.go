package model

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// gemini is generateContent and streamGenerateContent of the Gemini API (v1beta).
func gemini() api {
	return api{read: readGemini, whole: wholeGemini, stream: streamGemini}
}

// geminiParts are the parts of a content.
type geminiParts []struct {
	Text     string          `json:"text"`
	Call     json.RawMessage `json:"functionCall"`
	Response *struct {
		Response json.RawMessage `json:"response"`
	} `json:"functionResponse"`
}

func readGemini(r *Request) error {
	type contents struct {
		Role  string      `json:"role"`
		Parts geminiParts `json:"parts"`
	}
	var b struct {
		System   contents   `json:"systemInstruction"`
		Contents []contents `json:"contents"`
		Tools    []struct {
			Functions []struct {
				Name       string         `json:"name"`
				Parameters map[string]any `json:"parameters"`
				Schema     map[string]any `json:"parametersJsonSchema"`
			} `json:"functionDeclarations"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(r.Body, &b); err != nil {
		return err
	}
	for _, p := range b.System.Parts {
		r.Parts = append(r.Parts, Part{System, p.Text})
	}
	for _, c := range b.Contents {
		if c.Role == "model" {
			raw, _ := json.Marshal(c.Parts)
			r.Parts = append(r.Parts, Part{Assistant, string(raw)})
			continue
		}
		for _, p := range c.Parts {
			if p.Response != nil {
				r.Parts = append(r.Parts, Part{Result, strings.Join(leaves(p.Response.Response), "\n")})
			} else {
				r.Parts = append(r.Parts, Part{User, p.Text})
			}
		}
	}
	for _, t := range b.Tools {
		for _, f := range t.Functions {
			if f.Schema == nil {
				f.Schema = f.Parameters
			}
			if f.Schema == nil {
				f.Schema = map[string]any{}
			}
			r.Tools = append(r.Tools, Tool{Name: f.Name, Schema: f.Schema})
		}
	}
	return nil
}

// leaves returns the strings in a value, as the model reads them.
func leaves(raw json.RawMessage) []string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return []string{s}
	}
	var out []string
	var list []json.RawMessage
	var object map[string]json.RawMessage
	switch {
	case json.Unmarshal(raw, &list) == nil:
		for _, v := range list {
			out = append(out, leaves(v)...)
		}
	case json.Unmarshal(raw, &object) == nil:
		for _, name := range slices.Sorted(maps.Keys(object)) {
			out = append(out, leaves(object[name])...)
		}
	}
	return out
}

func wholeGemini(r *Request, say string, c *call) any {
	parts := []any{map[string]any{"text": say}}
	if c != nil { // after Esc the client's hooks depend on whether there was a text too
		parts = []any{map[string]any{"text": "I use " + c.name + "."},
			map[string]any{"functionCall": map[string]any{"name": c.name, "args": c.input},
				"thoughtSignature": "c2ln"}}
	}
	return map[string]any{
		"candidates": []any{map[string]any{"index": 0, "finishReason": "STOP",
			"content": map[string]any{"role": "model", "parts": parts}}},
		"usageMetadata": map[string]int{"promptTokenCount": 10, "candidatesTokenCount": 10, "totalTokenCount": 20},
		"modelVersion":  requested(r), "responseId": fmt.Sprintf("r%d", r.N),
	}
}

func streamGemini(r *Request, event func(string, any), wait func(func()) bool, say string, c *call) {
	if wait(func() {}) {
		event("", wholeGemini(r, say, c))
	}
}

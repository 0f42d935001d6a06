package httpapi

import (
	"encoding/json"
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/wire"
)

// The parts of an OpenAPI 3.1 document (spec.openapis.org/oas/v3.1.1) that we write.
type (
	document struct {
		OpenAPI    string                           `json:"openapi"`
		Info       info                             `json:"info"`
		Servers    []server                         `json:"servers"`
		Security   []map[string][]string            `json:"security"`
		Paths      map[string]map[string]*operation `json:"paths"`
		Components components                       `json:"components"`
	}
	info struct {
		Title   string  `json:"title"`
		Version string  `json:"version"`
		Summary string  `json:"summary"`
		License license `json:"license"`
	}
	license struct {
		Name       string `json:"name"`
		Identifier string `json:"identifier"`
	}
	server struct {
		URL string `json:"url"`
	}
	operation struct {
		ID          string              `json:"operationId"`
		Summary     string              `json:"summary"`
		Parameters  []parameter         `json:"parameters,omitempty"`
		RequestBody *content            `json:"requestBody,omitempty"`
		Responses   map[string]*content `json:"responses"`
	}
	parameter struct {
		Name        string  `json:"name"`
		In          string  `json:"in"`
		Description string  `json:"description,omitempty"`
		Required    bool    `json:"required,omitempty"`
		Schema      *schema `json:"schema"`
	}
	content struct {
		Ref         string           `json:"$ref,omitempty"`
		Description string           `json:"description,omitempty"`
		Required    bool             `json:"required,omitempty"`
		Content     map[string]media `json:"content,omitempty"`
	}
	media struct {
		Schema *schema `json:"schema"`
	}
	components struct {
		Schemas         schemas             `json:"schemas"`
		Responses       map[string]*content `json:"responses"`
		SecuritySchemes map[string]security `json:"securitySchemes"`
	}
	security struct {
		Type        string `json:"type"`
		Scheme      string `json:"scheme"`
		Description string `json:"description"`
	}
)

var openAPIRoute = wire.Route{ID: "openapi", Method: http.MethodGet, Path: "/openapi.json", About: "This document."}

// openAPI answers the document. It is made on each request, because hardly any client asks twice, and with
// encoding/json, which sorts the members of maps.
func openAPI(c *call) (any, error) {
	b, err := json.Marshal(describe(c.api.routes))
	return jsonx.Value(b), err
}

// describe makes the document from the table of routes.
func describe(table []route) *document {
	known := make(schemas)
	problem := &content{
		Description: "An error. Programs decide by code; detail is for people.",
		Content:     map[string]media{wire.ProblemJSON: {known.of(reflect.TypeFor[wire.Problem]())}},
	}
	doc := &document{
		OpenAPI: "3.1.1",
		Info: info{
			Title: "Pennypost", Version: "1",
			Summary: "A post office for AI agents and the people who work with them.",
			License: license{Name: "Apache-2.0", Identifier: "Apache-2.0"},
		},
		Servers:  []server{{URL: wire.Base}},
		Security: []map[string][]string{{"token": {}}, {}},
		Paths:    make(map[string]map[string]*operation),
		Components: components{
			Schemas:   known,
			Responses: map[string]*content{"Problem": problem},
			SecuritySchemes: map[string]security{"token": {
				Type: "http", Scheme: "bearer",
				Description: "An agent's token, or the operator's. The Unix socket needs none: the header " +
					wire.AgentHeader + " names the agent, percent-encoded; without it the caller is the user.",
			}},
		},
	}
	for i := range table {
		rt := &table[i]
		if doc.Paths[rt.Path] == nil {
			doc.Paths[rt.Path] = make(map[string]*operation)
		}
		doc.Paths[rt.Path][strings.ToLower(rt.Method)] = rt.describe(known)
	}
	return doc
}

func (rt *route) describe(known schemas) *operation {
	op := &operation{ID: rt.ID, Summary: rt.About, Parameters: rt.parameters(),
		Responses: map[string]*content{"default": {Ref: "#/components/responses/Problem"}}}
	if rt.in != nil {
		op.RequestBody = &content{Required: true,
			Content: map[string]media{or(rt.inType, wire.JSON): {known.of(reflect.TypeOf(rt.in))}}}
		if rt.inType == "" {
			known.close(reflect.TypeOf(rt.in)) // types that are only read; an Item, which is also written, stays open
		}
	}
	answer := &content{Description: http.StatusText(rt.Success)}
	if rt.out != nil {
		answer.Content = map[string]media{or(rt.stream, wire.JSON): {known.of(reflect.TypeOf(rt.out))}}
	}
	op.Responses[strconv.Itoa(rt.Success)] = answer
	for _, status := range rt.also {
		op.Responses[strconv.Itoa(status)] = answer
	}
	return op
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// parameters lists the parameters of the path, the query and the header.
func (rt *route) parameters() []parameter {
	var ps []parameter
	for segment := range strings.SplitSeq(rt.Path, "/") {
		if name, ok := strings.CutPrefix(segment, "{"); ok {
			ps = append(ps, parameter{Name: strings.TrimSuffix(name, "}"), In: "path", Required: true,
				Schema: &schema{Type: "string"}})
		}
	}
	for _, p := range rt.query {
		ps = append(ps, parameter{Name: p.Name, In: "query", Description: p.About, Schema: paramKind(p.Type).schema})
	}
	for _, name := range rt.headers {
		ps = append(ps, parameter{Name: name, In: "header", Schema: &schema{Type: "string"}})
	}
	return ps
}

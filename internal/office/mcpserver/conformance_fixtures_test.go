package mcpserver

//lint:file-ignore SA1019 the suite tests what revision 2026-07-28 deprecates, for as long as it is there

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The smallest picture and sound: a red 1x1 PNG, and a WAV of four silent samples.
const (
	redPixel = "\x89PNG\r\n\x1a\n" +
		"\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x02\x00\x00\x00\x90wS\xde" +
		"\x00\x00\x00\x0cIDATx\xdac\xf8\xcf\xc0\x00\x00\x03\x01\x01\x00\xf7\x03A\x43" +
		"\x00\x00\x00\x00IEND\xaeB`\x82"
	silence = "RIFF(\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00" +
		"@\x1f\x00\x00@\x1f\x00\x00\x01\x00\x08\x00data\x04\x00\x00\x00\x80\x80\x80\x80"
)

// pace is the pause between the notifications of a fixture that sends several. The suite
// asks for about 50 ms.
const pace = 50 * time.Millisecond

// Input schemas of fixtures. tools/list must preserve 2020-12 keywords.
const (
	noArguments = `{"type":"object"}`

	promptArgument = `{"type":"object","properties":{"prompt":{"type":"string"}},"required":["prompt"]}`

	messageArgument = `{"type":"object","properties":{"message":{"type":"string"}},"required":["message"]}`

	headerArgument = `{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}},` +
		`"required":["region"]}`

	everyKeyword = `{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"type": "object",
		"$defs": {"address": {"$anchor": "addressDef", "type": "object",
			"properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
		"properties": {
			"name": {"type": "string"},
			"address": {"$ref": "#/$defs/address"},
			"contactMethod": {"type": "string", "enum": ["phone", "email"]},
			"phone": {"type": "string"},
			"email": {"type": "string"}},
		"allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
		"if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
		"then": {"required": ["phone"]},
		"else": {"required": ["email"]},
		"additionalProperties": false}`
)

// conformanceServer returns the server that the official suite tests: the fixture tools, resources and prompts that
// its scenarios name (npm @modelcontextprotocol/conformance 0.2.0-alpha.12), for the transports under test. It has no
// mailbox.
func conformanceServer() *Server {
	f := &fixtures{key: newStateKey()}
	accept := func(context.Context, *mcp.SubscribeRequest) error { return nil }
	f.server = newServer(&mcp.Implementation{Name: "pennypost-conformance", Version: "1"}, &mcp.ServerOptions{
		SubscribeHandler:   accept,
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
		CompletionHandler:  complete,
	})
	f.addTools()
	f.addInputTools()
	f.addResources()
	f.addPrompts()
	return f.server
}

// fixtures are the handlers of a conformance server.
type fixtures struct {
	server *Server
	key    []byte // signs requestState
}

func (f *fixtures) tool(name, schema string, h mcp.ToolHandler) {
	f.server.AddTool(&mcp.Tool{Name: name, Description: "Fixture " + name, InputSchema: json.RawMessage(schema)}, h)
}

// quick adds a tool whose ordinary calls are answered without the SDK.
func (f *fixtures) quick(name string, a toolAnswer) {
	f.server.addQuick(&mcp.Tool{Name: name, Description: "Fixture " + name, InputSchema: json.RawMessage(noArguments)},
		func(context.Context, *toolCall) toolAnswer { return a })
}

func (f *fixtures) addTools() {
	f.quick("test_simple_text", toolAnswer{text: "This is a simple text response for testing."})
	f.tool("test_image_content", noArguments, answer(picture()))
	f.tool("test_audio_content", noArguments, answer(&mcp.AudioContent{Data: []byte(silence), MIMEType: "audio/wav"}))
	f.tool("test_embedded_resource", noArguments,
		answer(embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")))
	f.tool("test_multiple_content_types", noArguments, answer(
		text("Multiple content types test:"), picture(),
		embedded("test://mixed-content-resource", "application/json", `{"test":"data","value":123}`)))
	f.quick("test_error_handling", toolAnswer{text: "This tool intentionally returns an error for testing",
		failed: true})
	f.tool("test_tool_with_logging", noArguments, logging)
	f.tool("test_logging_tool", noArguments, logging)
	f.tool("test_tool_with_progress", noArguments, progressing)
	f.tool("test_reconnection", noArguments, hangingUp)
	f.tool("test_missing_capability", noArguments, needingSampling)
	f.tool("test_header_argument", headerArgument, answer(text("The header agreed with the argument.")))
	f.tool("json_schema_2020_12_tool", everyKeyword, answer(text("ok")))
	f.tool("test_trigger_tool_change", noArguments, f.changeTools)
	f.tool("test_trigger_prompt_change", noArguments, f.changePrompts)
}

func text(s string) *mcp.TextContent { return &mcp.TextContent{Text: s} }

func picture() *mcp.ImageContent {
	return &mcp.ImageContent{Data: []byte(redPixel), MIMEType: "image/png"}
}

func embedded(uri, mime, s string) *mcp.EmbeddedResource {
	return &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: uri, MIMEType: mime, Text: s}}
}

// answer is a tool that always returns the same content.
func answer(content ...mcp.Content) mcp.ToolHandler {
	return func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: content}, nil
	}
}

// rest waits for pace or the end of ctx.
func rest(ctx context.Context) error {
	select {
	case <-time.After(pace):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// logging sends three log messages; the SDK passes those that the client's level allows: in 2026-07-28, none unless
// the request's _meta names one.
func logging(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	for i, s := range []string{"Tool execution started", "Tool processing data", "Tool execution completed"} {
		if i > 0 {
			if err := rest(ctx); err != nil {
				return nil, err
			}
		}
		if err := req.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "info", Data: s}); err != nil {
			return nil, err
		}
	}
	return said("Logged three messages."), nil
}

func progressing(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	for _, n := range []float64{0, 50, 100} {
		if n > 0 {
			if err := rest(ctx); err != nil {
				return nil, err
			}
		}
		token := req.Params.GetProgressToken()
		if token == nil {
			continue
		}
		err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: n,
			Total: 100})
		if err != nil {
			return nil, err
		}
	}
	return said("Made progress."), nil
}

// hangingUp closes its stream before it answers, as 2025-11-25 lets a server do (SEP-1699),
// so that the client comes back for the answer.
func hangingUp(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if req.Extra != nil && req.Extra.CloseSSEStream != nil {
		req.Extra.CloseSSEStream(mcp.CloseSSEStreamArgs{RetryAfter: pace})
	}
	if err := rest(ctx); err != nil {
		return nil, err
	}
	return said("Answered after hanging up."), nil
}

// needingSampling refuses a client that cannot sample (2026-07-28, error -32021).
func needingSampling(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if caps := req.ClientCapabilities(); caps != nil && caps.Sampling != nil {
		return said("The client can sample."), nil
	}
	data, err := json.Marshal(mcp.MissingRequiredClientCapabilityData{
		RequiredCapabilities: &mcp.ClientCapabilities{Sampling: &mcp.SamplingCapabilities{}},
	})
	if err != nil {
		return nil, err
	}
	return nil, &jsonrpc.Error{
		Code:    mcp.CodeMissingRequiredClientCapabilities,
		Message: "this tool needs the sampling capability",
		Data:    data,
	}
}

// changeTools replaces a tool by itself, which the SDK announces like any change.
func (f *fixtures) changeTools(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	f.quick("test_simple_text", toolAnswer{text: "This is a simple text response for testing."})
	return said("Changed the tools."), nil
}

func (f *fixtures) changePrompts(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	f.addSimplePrompt()
	return said("Changed the prompts."), nil
}

func (f *fixtures) addResources() {
	f.resource("test://static-text", "text/plain",
		&mcp.ResourceContents{Text: "This is the content of the static text resource."})
	f.resource("test://static-binary", "image/png", &mcp.ResourceContents{Blob: []byte(redPixel)})
	f.resource("test://watched-resource", "text/plain", &mcp.ResourceContents{Text: "Watched."})
	f.server.AddResourceTemplate(&mcp.ResourceTemplate{
		URITemplate: "test://template/{id}/data",
		Name:        "template",
		Description: "Fixture template",
		MIMEType:    "application/json",
	}, readTemplate)
}

func (f *fixtures) resource(uri, mime string, c *mcp.ResourceContents) {
	c.URI, c.MIMEType = uri, mime
	f.server.AddResource(&mcp.Resource{URI: uri, Name: uri, Description: "Fixture " + uri, MIMEType: mime},
		func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{c}}, nil
		})
}

func readTemplate(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	var id string
	uri := req.Params.URI
	if _, err := fmt.Sscanf(uri, "test://template/%s", &id); err != nil {
		return nil, mcp.ResourceNotFoundError(uri)
	}
	id = id[:max(0, len(id)-len("/data"))]
	data, err := json.Marshal(map[string]any{"id": id, "templateTest": true, "data": "Data for ID: " + id})
	if err != nil {
		return nil, err
	}
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{
		{URI: uri, MIMEType: "application/json", Text: string(data)},
	}}, nil
}

func (f *fixtures) addPrompts() {
	f.addSimplePrompt()
	f.prompt("test_prompt_with_arguments", []string{"arg1", "arg2"}, func(args map[string]string) []mcp.Content {
		return []mcp.Content{text(fmt.Sprintf("Prompt with arguments: arg1='%s', arg2='%s'", args["arg1"],
			args["arg2"]))}
	})
	f.prompt("test_prompt_with_embedded_resource", []string{"resourceUri"},
		func(args map[string]string) []mcp.Content {
			return []mcp.Content{
				embedded(args["resourceUri"], "text/plain", "Embedded resource content for testing."),
				text("Please process the embedded resource above."),
			}
		})
	f.prompt("test_prompt_with_image", nil, func(map[string]string) []mcp.Content {
		return []mcp.Content{picture(), text("Please analyze the image above.")}
	})
	f.server.AddPrompt(describePrompt("test_input_required_result_prompt", nil), askingPrompt)
}

func (f *fixtures) addSimplePrompt() {
	f.prompt("test_simple_prompt", nil, func(map[string]string) []mcp.Content {
		return []mcp.Content{text("This is a simple prompt for testing.")}
	})
}

func (f *fixtures) prompt(name string, args []string, content func(map[string]string) []mcp.Content) {
	f.server.AddPrompt(describePrompt(name, args),
		func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return fromUser(content(req.Params.Arguments)...), nil
		})
}

func describePrompt(name string, args []string) *mcp.Prompt {
	p := &mcp.Prompt{Name: name, Description: "Fixture " + name}
	for _, a := range args {
		p.Arguments = append(p.Arguments, &mcp.PromptArgument{Name: a, Description: "Argument " + a, Required: true})
	}
	return p
}

func fromUser(content ...mcp.Content) *mcp.GetPromptResult {
	res := &mcp.GetPromptResult{}
	for _, c := range content {
		res.Messages = append(res.Messages, &mcp.PromptMessage{Role: "user", Content: c})
	}
	return res
}

func complete(_ context.Context, req *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
	return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{
		Values: []string{req.Params.Argument.Value + "-completed"},
		Total:  1,
	}}, nil
}

package mcpserver

//lint:file-ignore SA1019 the suite tests what revision 2026-07-28 deprecates, for as long as it is there

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Schemas that fixtures ask the user to fill in.
const (
	askName    = `{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`
	askOK      = `{"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"]}`
	askColor   = `{"type":"object","properties":{"color":{"type":"string"}},"required":["color"]}`
	askContext = `{"type":"object","properties":{"context":{"type":"string"}},"required":["context"]}`
	askLogin   = `{"type":"object","properties":{
		"username":{"type":"string","description":"User's response"},
		"email":{"type":"string","description":"User's email address"}},"required":["username","email"]}`

	// Defaults of every primitive type (SEP-1034).
	askDefaults = `{"type":"object","properties":{
		"name":{"type":"string","default":"John Doe"},
		"age":{"type":"integer","default":30},
		"score":{"type":"number","default":95.5},
		"status":{"type":"string","enum":["active","inactive","pending"],"default":"active"},
		"verified":{"type":"boolean","default":true}}}`

	// Every form of choice (SEP-1330).
	askChoices = `{"type":"object","properties":{
		"untitledSingle":{"type":"string","enum":["option1","option2","option3"]},
		"titledSingle":{"type":"string","oneOf":[
			{"const":"value1","title":"First Option"},
			{"const":"value2","title":"Second Option"},
			{"const":"value3","title":"Third Option"}]},
		"legacyEnum":{"type":"string","enum":["opt1","opt2","opt3"],
			"enumNames":["Option One","Option Two","Option Three"]},
		"untitledMulti":{"type":"array","items":{"type":"string","enum":["option1","option2","option3"]}},
		"titledMulti":{"type":"array","items":{"anyOf":[
			{"const":"value1","title":"First Choice"},
			{"const":"value2","title":"Second Choice"},
			{"const":"value3","title":"Third Choice"}]}}}}`
)

// addInputTools adds the tools that ask their client for input. All use an input-required result (2026-07-28,
// SEP-2322); for an older client the SDK turns that into that revision's request and calls the tool again.
func (f *fixtures) addInputTools() {
	const prefix = "test_input_required_result_"
	f.tool("test_elicitation", messageArgument, eliciting("", askLogin, "User response"))
	f.tool("test_elicitation_sep1034_defaults", noArguments,
		eliciting("Please confirm.", askDefaults, "Elicitation completed"))
	f.tool("test_elicitation_sep1330_enums", noArguments,
		eliciting("Please choose.", askChoices, "Elicitation completed"))
	f.tool("test_streaming_elicitation", noArguments, eliciting("Please confirm.", askOK, "Elicitation completed"))
	f.tool("test_sampling", promptArgument, sampling)
	f.tool(prefix+"elicitation", noArguments, askingName)
	f.tool(prefix+"sampling", noArguments, askingModel)
	f.tool(prefix+"list_roots", noArguments, askingRoots)
	f.tool(prefix+"request_state", noArguments, f.askingWithState)
	f.tool(prefix+"tampered_state", noArguments, f.askingWithState)
	f.tool(prefix+"multiple_inputs", noArguments, f.askingAll)
	f.tool(prefix+"multi_round", noArguments, f.askingTwice)
	f.tool(prefix+"capabilities", noArguments, askingTheCapable)
}

func ask(message, schema string) *mcp.ElicitParams {
	return &mcp.ElicitParams{Message: message, RequestedSchema: json.RawMessage(schema)}
}

func askModel(prompt string, maxTokens int64) *mcp.CreateMessageParams {
	return &mcp.CreateMessageParams{
		Messages:  []*mcp.SamplingMessage{{Role: "user", Content: text(prompt)}},
		MaxTokens: maxTokens,
	}
}

func inputRequired(state string, requests mcp.InputRequestMap) (*mcp.CallToolResult, error) {
	return &mcp.CallToolResult{InputRequests: requests, RequestState: state}, nil
}

// elicited returns the user's answer to request id, if there is an accepted one.
func elicited(in mcp.InputResponseMap, id string) (map[string]any, bool) {
	res, ok := in[id].(*mcp.ElicitResult)
	if !ok || res.Action != "accept" {
		return nil, false
	}
	return res.Content, true
}

// sampled returns the text of the model's answer to request id, if there is one.
func sampled(in mcp.InputResponseMap, id string) (string, bool) {
	var content []mcp.Content
	switch res := in[id].(type) {
	case *mcp.CreateMessageResult:
		content = []mcp.Content{res.Content}
	case *mcp.CreateMessageWithToolsResult:
		content = res.Content
	}
	for _, c := range content {
		if t, ok := c.(*mcp.TextContent); ok {
			return t.Text, true
		}
	}
	return "", false
}

// eliciting asks the user to fill in schema and reports the outcome. An empty message is taken from the arguments.
func eliciting(message, schema, verdict string) mcp.ToolHandler {
	return func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if res, ok := req.Params.InputResponses["form"].(*mcp.ElicitResult); ok {
			content, err := json.Marshal(res.Content)
			if err != nil {
				return nil, err
			}
			return said(fmt.Sprintf("%s: action=%s, content=%s", verdict, res.Action, content)), nil
		}
		args := struct{ Message string }{message}
		if err := decodeArguments(req, &args); err != nil {
			return nil, err
		}
		return inputRequired("", mcp.InputRequestMap{"form": ask(args.Message, schema)})
	}
}

func sampling(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if s, ok := sampled(req.Params.InputResponses, "model"); ok {
		return said("LLM response: " + s), nil
	}
	var args struct{ Prompt string }
	if err := decodeArguments(req, &args); err != nil {
		return nil, err
	}
	return inputRequired("", mcp.InputRequestMap{"model": askModel(args.Prompt, 100)})
}

func decodeArguments(req *mcp.CallToolRequest, to any) error {
	if len(req.Params.Arguments) == 0 {
		return nil
	}
	if err := json.Unmarshal(req.Params.Arguments, to); err != nil {
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "arguments: " + err.Error()}
	}
	return nil
}

func askingName(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if in, ok := elicited(req.Params.InputResponses, "user_name"); ok {
		return said(fmt.Sprintf("Hello, %v!", in["name"])), nil
	}
	return inputRequired("", mcp.InputRequestMap{"user_name": ask("What is your name?", askName)})
}

func askingModel(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if s, ok := sampled(req.Params.InputResponses, "capital_question"); ok {
		return said(s), nil
	}
	return inputRequired("", mcp.InputRequestMap{"capital_question": askModel("What is the capital of France?", 100)})
}

func askingRoots(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if res, ok := req.Params.InputResponses["client_roots"].(*mcp.ListRootsResult); ok {
		var uris []string
		for _, r := range res.Roots {
			uris = append(uris, r.URI)
		}
		return said("Roots: " + strings.Join(uris, ", ")), nil
	}
	return inputRequired("", mcp.InputRequestMap{"client_roots": &mcp.ListRootsParams{}})
}

// askingTheCapable asks only for the capabilities that the client declared.
func askingTheCapable(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if len(req.Params.InputResponses) > 0 {
		return said("Got the answers."), nil
	}
	requests := make(mcp.InputRequestMap)
	if caps := req.ClientCapabilities(); caps != nil {
		if caps.Sampling != nil {
			requests["greeting"] = askModel("Generate a greeting", 50)
		}
		if caps.Elicitation != nil {
			requests["user_name"] = ask("What is your name?", askName)
		}
	}
	return inputRequired("", requests)
}

func askingPrompt(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	if in, ok := elicited(req.Params.InputResponses, "user_context"); ok {
		return fromUser(text(fmt.Sprintf("Use this context: %v", in["context"]))), nil
	}
	return &mcp.GetPromptResult{InputRequests: mcp.InputRequestMap{
		"user_context": ask("What context should the prompt use?", askContext),
	}}, nil
}

func (f *fixtures) askingWithState(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if req.Params.RequestState != "" {
		if _, err := f.open(req.Params.RequestState); err != nil {
			return nil, err
		}
		if _, ok := elicited(req.Params.InputResponses, "confirm"); ok {
			return said("state-ok"), nil
		}
	}
	return inputRequired(f.seal("confirming"), mcp.InputRequestMap{"confirm": ask("Please confirm", askOK)})
}

func (f *fixtures) askingAll(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	in := req.Params.InputResponses
	if req.Params.RequestState != "" {
		if _, err := f.open(req.Params.RequestState); err != nil {
			return nil, err
		}
		who, okName := elicited(in, "user_name")
		greeting, okGreeting := sampled(in, "greeting")
		roots, okRoots := in["client_roots"].(*mcp.ListRootsResult)
		if okName && okGreeting && okRoots {
			return said(fmt.Sprintf("%s, %v! You have %d roots.", greeting, who["name"], len(roots.Roots))), nil
		}
	}
	return inputRequired(f.seal("asked"), mcp.InputRequestMap{
		"user_name":    ask("What is your name?", askName),
		"greeting":     askModel("Generate a greeting", 50),
		"client_roots": &mcp.ListRootsParams{},
	})
}

// askingTwice carries the answer to its first question in the state of its second.
func (f *fixtures) askingTwice(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	in := req.Params.InputResponses
	if req.Params.RequestState != "" {
		state, err := f.open(req.Params.RequestState)
		if err != nil {
			return nil, err
		}
		if name, ok := strings.CutPrefix(state, "name:"); ok {
			if color, ok := elicited(in, "step2"); ok {
				return said(fmt.Sprintf("%s likes %v.", name, color["color"])), nil
			}
		}
		if who, ok := elicited(in, "step1"); ok {
			return inputRequired(f.seal(fmt.Sprintf("name:%v", who["name"])), mcp.InputRequestMap{
				"step2": ask("Step 2: What is your favorite color?", askColor),
			})
		}
	}
	return inputRequired(f.seal("begun"), mcp.InputRequestMap{
		"step1": ask("Step 1: What is your name?", askName),
	})
}

func newStateKey() []byte {
	key := make([]byte, sha256.Size)
	rand.Read(key) // never fails
	return key
}

// seal signs state, which passes through the client.
func (f *fixtures) seal(state string) string {
	return hex.EncodeToString(f.sign(state)) + "." + state
}

func (f *fixtures) open(sealed string) (string, error) {
	sum, state, _ := strings.Cut(sealed, ".")
	got, err := hex.DecodeString(sum)
	if err != nil || !hmac.Equal(got, f.sign(state)) {
		return "", &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "requestState was altered"}
	}
	return state, nil
}

func (f *fixtures) sign(state string) []byte {
	mac := hmac.New(sha256.New, f.key)
	mac.Write([]byte(state))
	return mac.Sum(nil)
}

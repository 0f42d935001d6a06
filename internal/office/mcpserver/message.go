package mcpserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// stateless is the first protocol revision without sessions. Revisions are dates, so they compare as strings.
const stateless = "2026-07-28"

// A message is the part of a request's body that routing needs. The zero message stands for a GET or DELETE.
type message struct {
	batch   bool // an array, as 2025-03-26 allowed
	id      json.RawMessage
	method  string
	version string // protocolVersion of _meta
	body    []byte // for the SDK, with its id translated by ids
}

func (m message) isCall() bool { return m.method != "" && len(m.id) > 0 }

// stateless reports whether the request is of the stateless era, given its version header. A contradiction between
// header and body counts as stateless too: 2026-07-28 has an error for it, which the SDK sends.
func (m message) stateless(header string) bool {
	return header >= stateless || m.version >= stateless ||
		m.method == "server/discover" || m.method == "subscriptions/listen"
}

// readBody reads the body of a POST.
func readBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, *refusal) {
	if r.Method != http.MethodPost {
		return nil, nil
	}
	tooLarge := refuse(http.StatusRequestEntityTooLarge, jsonrpc.CodeInvalidRequest,
		fmt.Sprintf("request body exceeds %d bytes", limit))
	if r.ContentLength > limit {
		w.Header().Set("Connection", "close") // nothing that follows is worth reading
		return nil, tooLarge
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	var tooBig *http.MaxBytesError
	switch {
	case errors.As(err, &tooBig):
		return nil, tooLarge
	case err != nil:
		return nil, refuse(http.StatusBadRequest, jsonrpc.CodeInvalidRequest, "request body was cut short")
	}
	return body, nil
}

// readMessage parses the body of a POST, and replaces it with the one for the SDK.
func readMessage(r *http.Request, body []byte, spell ids) (message, *refusal) {
	if r.Method != http.MethodPost {
		return message{}, nil
	}
	msg, ref := parseMessage(body, spell)
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(msg.body)), int64(len(msg.body))
	return msg, ref
}

// parseMessage refuses a body that is not a JSON-RPC message, which the SDK would answer in plain text, and reads
// the fields of message from the rest.
func parseMessage(body []byte, spell ids) (message, *refusal) {
	if !json.Valid(body) { // also bounds the nesting, as other decoders may not
		return message{}, refuse(http.StatusBadRequest, jsonrpc.CodeParseError, "request body is not valid JSON")
	}
	if body = bytes.TrimLeft(body, " \t\r\n"); body[0] == '[' {
		return message{batch: true, body: spell.concealBatch(body)}, nil
	}
	var in struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params struct {
			Meta struct {
				Version string `json:"io.modelcontextprotocol/protocolVersion"`
			} `json:"_meta"`
		} `json:"params"`
	}
	// A field of the wrong type stays zero and is left for the SDK to refuse.
	_ = json.Unmarshal(body, &in)
	msg := message{id: in.ID, method: in.Method, version: in.Params.Meta.Version, body: body}
	if len(in.ID) > 0 && !isID(in.ID) && (in.Method != "" || string(in.ID) != "null") {
		return message{}, refuse(http.StatusBadRequest, jsonrpc.CodeInvalidRequest,
			"not a JSON-RPC message: the id must be a string or a number")
	}
	if in.Method != "" {
		msg.body = spell.conceal(body, in.Method)
	}
	if _, err := jsonrpc.DecodeMessage(msg.body); err != nil {
		return message{}, refuse(http.StatusBadRequest, jsonrpc.CodeInvalidRequest, "not a JSON-RPC message: "+
			err.Error()).to(msg)
	}
	return msg, nil
}

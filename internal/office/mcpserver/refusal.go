package mcpserver

import (
	"encoding/json"
	"net/http"

	"pennypost/internal/base/wording"
	"pennypost/internal/fence"
)

// codeSessionNotFound is the code that the TypeScript and Python SDKs send with 404; no revision of the
// specification names one.
const codeSessionNotFound = -32001

// A refusal is an answer by us instead of the SDK: an HTTP status whose body is a JSON-RPC error, which both eras
// allow for a failure of the transport.
type refusal struct {
	status int
	body   rpcError
}

// An rpcError is a JSON-RPC error response. Its ID is null where the request's is unknown.
type rpcError struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Error   struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

func newRPCError(id json.RawMessage, code int, msg string) rpcError {
	e := rpcError{Version: "2.0", ID: id}
	e.Error.Code, e.Error.Message = code, wording.Clip(fence.Text(msg), fence.MaxError) // may quote input
	return e
}

func refuse(status, code int, msg string) *refusal {
	return &refusal{status: status, body: newRPCError(nil, code, msg)}
}

// to addresses the refusal to the request it answers.
func (r *refusal) to(msg message) *refusal {
	r.body.ID = msg.id
	return r
}

func (r *refusal) write(w http.ResponseWriter) {
	data, err := json.Marshal(r.body)
	if err != nil { // cannot happen: an ID was parsed as valid JSON
		http.Error(w, http.StatusText(r.status), r.status)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(r.status)
	w.Write(append(data, '\n')) // a client that left needs no answer
}

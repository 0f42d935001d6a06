package httpapi

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net/http"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
	"pennypost/internal/wire"
)

// statusOf is this edge's one table of codes: status and title.
func statusOf(code mail.Code) (int, string) {
	switch code {
	case mail.Invalid:
		return http.StatusBadRequest, "Invalid request"
	case mail.Unknown:
		return http.StatusUnauthorized, "Not authenticated"
	case mail.Denied:
		return http.StatusForbidden, "Not permitted"
	case mail.Unconfirmed:
		return http.StatusForbidden, "Confirmation required"
	case mail.NotFound:
		return http.StatusNotFound, "Not found"
	case mail.Conflict:
		return http.StatusConflict, "Conflict"
	case mail.TooLarge:
		return http.StatusRequestEntityTooLarge, "Too large"
	case mail.Limited:
		return http.StatusTooManyRequests, "Too many requests"
	case mail.Timeout:
		// Not 408, which makes browsers and some libraries repeat the request by themselves.
		return http.StatusGatewayTimeout, "Timed out"
	case mail.Unavailable:
		return http.StatusServiceUnavailable, "Post office unavailable"
	}
	return http.StatusInternalServerError, "Internal error"
}

// statusError is an error for which HTTP has a more precise status than that of its code.
type statusError struct {
	status int
	err    *mail.Error
}

func (e *statusError) Error() string { return e.err.Msg }
func (e *statusError) Unwrap() error { return e.err }

// Status returns the status of an error.
func Status(err error) int { return problem(err).Status }

// Fail answers a request outside the API's routes with an error.
func Fail(w http.ResponseWriter, err error) { writeProblem(w, problem(err)) }

// fail answers with a problem.
func (a *api) fail(w *recorder, r *http.Request, err error) {
	p := problem(err)
	if p.Status >= http.StatusInternalServerError {
		p.Instance = "urn:pennypost:request:" + rand.Text()
	}
	a.note(r, err, p.Instance)
	switch p.Code {
	case mail.Unknown:
		w.Header().Set("WWW-Authenticate", `Bearer realm="pennypost"`)
	case mail.TooLarge:
		w.Header().Set("Connection", "close") // the rest of the body will not be read
	}
	writeProblem(w, p)
}

// problem returns the public form of err.
func problem(err error) wire.Problem {
	code, msg := mail.Internal, "internal error; see this instance in the log of the post office"
	if e, ok := errors.AsType[*mail.Error](err); ok {
		code, msg = e.Code, e.Msg
	} else if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		code, msg = mail.Timeout, "the request ended before the post office could answer"
	}
	p := wire.Problem{Type: "urn:pennypost:problem:" + string(code), Detail: msg, Code: code}
	p.Status, p.Title = statusOf(code)
	if e, ok := errors.AsType[*statusError](err); ok {
		p.Status, p.Title = e.status, http.StatusText(e.status)
	}
	return p
}

func writeProblem(w http.ResponseWriter, p wire.Problem) {
	body, err := jsonx.Marshal(p)
	if err != nil {
		p.Detail = "the error text is not UTF-8"
		body, _ = jsonx.Marshal(p)
	}
	w.Header().Set("Content-Type", wire.ProblemJSON)
	w.WriteHeader(p.Status)
	_, _ = w.Write(append(body, '\n')) // a client that is gone needs no answer
}

// note logs details that the client does not get. Errors of the caller are returned in full, and repeat its words:
// only their codes are logged.
func (a *api) note(r *http.Request, err error, instance string) {
	code, level, cause := mail.CodeOf(err), slog.LevelDebug, error(nil)
	if r.Context().Err() == nil && !errors.Is(err, errClosing) {
		switch code {
		case mail.Internal:
			level, cause = slog.LevelError, err
		case mail.Unavailable:
			level, cause = slog.LevelWarn, err
		}
	}
	if e, ok := errors.AsType[*mail.Error](err); ok && e.Err != nil && cause != nil {
		cause = e.Err
	}
	a.opts.Log.Log(r.Context(), level, "http request failed", "method", r.Method, "path", r.URL.Path, "code", code,
		"instance", instance, "err", cause)
}

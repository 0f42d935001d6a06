package openalice

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
	"pennypost/internal/office/dialect"
)

func routes() []dialect.Route {
	return []dialect.Route{
		{Pattern: "GET /api/inbox/history", Handle: serveHistory},
		{Pattern: "POST /api/inbox/seed", DevOnly: true, Handle: serveSeed},
		{Pattern: "DELETE /api/inbox/{id}", Handle: serveDelete},
		{Pattern: "PUT /api/inbox/{id}/read", Handle: serveRead},
		{Pattern: "DELETE /api/inbox/{id}/read", Handle: serveUnread},
		{Pattern: "GET /api/workspaces/{id}/file", Handle: serveFile},
	}
}

func serveHistory(w http.ResponseWriter, r *http.Request, c *dialect.Call) {
	page, err := history(r.Context(), c.Service, queryOf(r.URL.Query()))
	if err != nil {
		refuse(w, c, err)
		return
	}
	if n, ok := malformed(r.Context(), c.Service); ok {
		w.Header().Set("X-Inbox-Malformed", strconv.Itoa(n))
	}
	reply(w, http.StatusOK, page)
}

// malformed returns how many lines of the room's entries.jsonl cannot be understood, and whether it has such files at
// all.
func malformed(ctx context.Context, svc mail.Service) (n int, ok bool) {
	list, err := svc.Bridges(ctx)
	if err != nil {
		return 0, false
	}
	for _, b := range list {
		if b.Dialect == "openalice" {
			n, ok = n+b.Rejected, true
		}
	}
	return n, ok
}

// maxSeed is the largest body of a seed, in bytes: a comment of the size that rooms take, however it is escaped.
const maxSeed = 6*maxImport + 1<<20

// serveSeed adds an entry as if a workspace had pushed it.
func serveSeed(w http.ResponseWriter, r *http.Request, c *dialect.Call) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxSeed))
	if err != nil {
		reply(w, http.StatusBadRequest, pushed{Error: "the body cannot be read: " + err.Error()})
		return
	}
	e, err := seed(r.Context(), c, body)
	switch mail.CodeOf(err) {
	case "":
		reply(w, http.StatusOK, pushed{OK: true, EntryID: mail.ID(e.ID), TS: e.TS})
	case mail.Invalid, mail.TooLarge, mail.Denied:
		reply(w, http.StatusBadRequest, pushed{Error: err.Error()})
	default:
		refuse(w, c, err)
	}
}

func seed(ctx context.Context, c *dialect.Call, body []byte) (entry, error) {
	e, err := parse(body)
	if err != nil {
		return e, mail.Errorf(mail.Invalid, "%s", jsonx.Explain(err))
	}
	if e.WorkspaceID == "" {
		return e, mail.Errorf(mail.Invalid, "workspaceId is required")
	}
	if why := checkPush(e.Docs, e.Comments); why != "" {
		return e, mail.Errorf(mail.Invalid, "%s", why)
	}
	if e.WorkspaceLabel == "" {
		labels, err := labels(ctx, c.Service)
		if err != nil {
			return e, err
		}
		e.WorkspaceLabel = labels[mail.Name(e.WorkspaceID)]
	}
	e.ID, e.TS, e.Body, e.more = string(mail.NewUUID()), int64(mail.TimeOf(c.Now)), "", nil
	it, err := e.item()
	if err != nil {
		return e, err
	}
	_, err = c.Service.Import(ctx, []mail.Item{it})
	return e, err
}

func serveDelete(w http.ResponseWriter, r *http.Request, c *dialect.Call) {
	it, err := oneEntry(r.Context(), c.Service, r.PathValue("id"))
	if err == nil {
		err = c.Service.Erase(r.Context(), it.ID)
	}
	if err != nil {
		refuse(w, c, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func serveRead(w http.ResponseWriter, r *http.Request, c *dialect.Call) {
	it, err := mark(r.Context(), c.Service, r.PathValue("id"), mail.MarkRead)
	if err != nil {
		refuse(w, c, err)
		return
	}
	at, _ := readAt(&it)
	reply(w, http.StatusOK, struct {
		OK     bool    `json:"ok"`
		ID     mail.ID `json:"id"`
		ReadAt int64   `json:"readAt"`
	}{true, it.ID, int64(at)})
}

func serveUnread(w http.ResponseWriter, r *http.Request, c *dialect.Call) {
	it, err := mark(r.Context(), c.Service, r.PathValue("id"), mail.MarkUnread)
	if err != nil {
		refuse(w, c, err)
		return
	}
	reply(w, http.StatusOK, struct {
		OK bool    `json:"ok"`
		ID mail.ID `json:"id"`
	}{true, it.ID})
}

// mark marks an entry and returns it as it stands then.
func mark(ctx context.Context, svc mail.Service, id string, m mail.Mark) (mail.Item, error) {
	it, err := oneEntry(ctx, svc, id)
	if err != nil {
		return it, err
	}
	if _, err := svc.Mark(ctx, mail.Marking{IDs: []mail.ID{it.ID}, Mark: m}); err != nil {
		if _, read := readAt(&it); mail.CodeOf(err) == mail.NotFound && read == (m == mail.MarkRead) {
			return it, nil // in the archive, where nothing can be marked, and it is as it should be
		}
		return it, err
	}
	return svc.Message(ctx, it.ID)
}

func serveFile(w http.ResponseWriter, r *http.Request, c *dialect.Call) {
	list, err := c.Service.Workspaces(r.Context())
	if err != nil {
		refuse(w, c, err)
		return
	}
	i := slices.IndexFunc(list, func(ws mail.Workspace) bool { return string(ws.ID) == r.PathValue("id") })
	if i < 0 {
		reply(w, http.StatusNotFound, failure{Error: NoWorkspace})
		return
	}
	doc, err := ReadDocument(list[i].Dir, r.URL.Query().Get("path"))
	if why, ok := errors.AsType[*DocumentError](err); ok {
		if why.Err != nil {
			c.Log.Info("document not shown", "workspace", list[i].ID, "err", err)
		}
		reply(w, why.Status(), failure{Error: why.Reason, SizeBytes: why.Size})
		return
	}
	WriteDocument(w, doc)
}

// WriteDocument answers with a document in a way in which no browser runs it: as plain text, or as a download.
func WriteDocument(w http.ResponseWriter, doc Document) {
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	h.Set("Cache-Control", "no-store") // it is shown as it is now
	h.Set("Content-Type", "text/plain; charset=utf-8")
	if doc.Binary {
		h.Set("Content-Type", "application/octet-stream")
		h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": doc.Name}))
	}
	h.Set("Content-Length", strconv.Itoa(len(doc.Text)))
	_, _ = w.Write(doc.Text) // whoever asked has gone if this fails
}

// Status returns the HTTP status of the reason.
func (e *DocumentError) Status() int {
	switch e.Reason {
	case PathRequired, InvalidPath:
		return http.StatusBadRequest
	case NoWorkspace, FileNotFound:
		return http.StatusNotFound
	case FileTooLarge:
		return http.StatusRequestEntityTooLarge
	}
	return http.StatusInternalServerError
}

// failure is how the original's routes refuse.
type failure struct {
	Error     string `json:"error"`
	SizeBytes int64  `json:"sizeBytes,omitzero"`
}

// refuse answers with the error of a call.
func refuse(w http.ResponseWriter, c *dialect.Call, err error) {
	switch code := mail.CodeOf(err); code {
	case mail.NotFound:
		reply(w, http.StatusNotFound, failure{Error: string(code)})
	case mail.Invalid, mail.TooLarge:
		reply(w, http.StatusBadRequest, failure{Error: err.Error()})
	case mail.Denied:
		reply(w, http.StatusForbidden, failure{Error: err.Error()})
	case mail.Unavailable, mail.Timeout:
		reply(w, http.StatusServiceUnavailable, failure{Error: err.Error()})
	default:
		c.Log.Error("openalice route", "err", err)
		reply(w, http.StatusInternalServerError, failure{Error: "internal"})
	}
}

func reply(w http.ResponseWriter, status int, v any) {
	text, err := jsonx.Marshal(v)
	if err != nil {
		http.Error(w, `{"error":"internal"}`, http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(text) // whoever asked has gone if this fails
}

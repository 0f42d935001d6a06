package openalice

import (
	"cmp"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
	"pennypost/internal/office/dialect"
)

// door answers the routes. It is safe for concurrent use.
type door struct{ inbox Inbox }

func routes() []dialect.Route {
	d := new(door)
	return []dialect.Route{
		{Pattern: "GET /api/inbox/history", Handle: answering(d.history)},
		{Pattern: "POST /api/inbox/seed", DevOnly: true, Handle: answering(d.seed)},
		{Pattern: "DELETE /api/inbox/{id}", Handle: answering(d.delete)},
		{Pattern: "PUT /api/inbox/{id}/read", Handle: answering(d.read)},
		{Pattern: "DELETE /api/inbox/{id}/read", Handle: answering(d.unread)},
		{Pattern: "GET /api/workspaces/{id}/file", Handle: answering(d.file)},
	}
}

// answering returns a route that replies with answer's value; a nil value means that answer has written the reply
// itself.
func answering(answer func(http.ResponseWriter, *http.Request, *dialect.Call) (any, error)) func(http.ResponseWriter,
	*http.Request, *dialect.Call) {
	return func(w http.ResponseWriter, r *http.Request, c *dialect.Call) {
		value, err := answer(w, r, c)
		switch {
		case err != nil:
			refuse(w, c, err)
		case value != nil:
			reply(w, http.StatusOK, value)
		}
	}
}

// rooms returns the room that a request names, or all rooms of the inbox. With an error some rooms are missing.
func (d *door) rooms(ctx context.Context, c *dialect.Call) ([]InRoom, error) {
	if c.Office == nil {
		return []InRoom{{c.Room, c.Service}}, nil
	}
	return d.inbox.Rooms(ctx, c.Office)
}

// queryOf parses the parameters as the original does.
func queryOf(v url.Values) query {
	q := query{before: v.Get("before"), workspace: v.Get("workspaceId")}
	if n := number(v.Get("limit")); n >= 1 {
		q.limit = int(min(n, maxLimit))
	}
	if n := number(v.Get("beforeTs")); n >= 1 {
		q.until = mail.Time(min(n, latest))
	}
	return q
}

// historyPage is the answer of GET /api/inbox/history.
type historyPage struct {
	Entries []jsonx.Value `json:"entries"`
	HasMore bool          `json:"hasMore"`
}

func (d *door) history(w http.ResponseWriter, r *http.Request, c *dialect.Call) (any, error) {
	rooms, missing := d.rooms(r.Context(), c)
	if len(rooms) == 0 && missing != nil {
		return nil, missing
	}
	if missing != nil {
		c.Log.Warn("rooms missing in the inbox", "err", missing)
		w.Header().Set("X-Inbox-Incomplete", "true")
	}
	page, err := d.inbox.list(r.Context(), rooms, queryOf(r.URL.Query()))
	out := historyPage{Entries: []jsonx.Value{}, HasMore: page.more}
	if err != nil {
		return nil, err
	}
	for i := range page.rows {
		text, err := page.rows[i].encode()
		if err != nil {
			return nil, err
		}
		out.Entries = append(out.Entries, text)
	}
	lines, bridged := 0, false
	for _, room := range rooms {
		if n, ok := malformed(r.Context(), room); ok {
			lines, bridged = lines+n, true
		}
	}
	if bridged {
		w.Header().Set("X-Inbox-Malformed", strconv.Itoa(lines))
	}
	return out, nil
}

// encode returns an entry's line with the additional members that a list shows.
func (e *row) encode() (jsonx.Value, error) {
	more := make([]jsonx.Member, 0, 4)
	add := func(name string, value any) {
		text, _ := jsonx.Marshal(value) // strings and numbers always encode
		more = append(more, jsonx.Member{Name: name, Value: text})
	}
	if e.readAt > 0 {
		add("readAt", int64(e.readAt))
	}
	add("room", e.room)
	add("preview", e.preview)
	add("canReply", e.canReply)
	line := entryOf(&e.Message, e.label)
	line.more = slices.DeleteFunc(line.more, func(m jsonx.Member) bool {
		return slices.ContainsFunc(more, named(m.Name))
	})
	return line.encode(more...)
}

// malformed returns the number of malformed lines in the room's entries.jsonl, and whether it has such a file.
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

// maxSeed is the size limit of a seed's body, in bytes: the largest comment that rooms accept, in any escaping.
const maxSeed = 6*maxImport + 1<<20

// seed adds an entry as if a workspace had pushed it.
func (d *door) seed(w http.ResponseWriter, r *http.Request, c *dialect.Call) (any, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxSeed))
	if err != nil {
		reply(w, http.StatusBadRequest, pushed{Error: "the body cannot be read: " + err.Error()})
		return nil, nil
	}
	e, err := d.plant(r.Context(), c, body)
	switch mail.CodeOf(err) {
	case mail.Invalid, mail.TooLarge, mail.Denied:
		reply(w, http.StatusBadRequest, pushed{Error: err.Error()})
		return nil, nil
	}
	return pushed{OK: true, EntryID: mail.ID(e.ID), TS: e.TS}, err
}

// plant adds the entry in body.
func (d *door) plant(ctx context.Context, c *dialect.Call, body []byte) (entry, error) {
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
	svc, label, err := d.seeded(ctx, c, e.WorkspaceID)
	if err != nil {
		return e, err
	}
	e.WorkspaceLabel = cmp.Or(e.WorkspaceLabel, label)
	e.ID, e.TS, e.Body, e.more = string(mail.NewUUID()), int64(mail.TimeOf(c.Now)), "", nil
	it, err := e.item()
	if err != nil {
		return e, err
	}
	_, err = svc.Import(ctx, []mail.Item{it})
	return e, err
}

// seeded returns the room for a seed of a workspace, and the workspace's label if a room has it. The original
// appends to entries.jsonl, so a room bridged to such a file comes first, then one that has the workspace, then the
// request's default room.
func (d *door) seeded(ctx context.Context, c *dialect.Call, id string) (mail.Service, string, error) {
	rooms, missing := d.rooms(ctx, c)
	svc, label, best := c.Service, "", 0
	for _, room := range rooms {
		found, err := workspaces(ctx, []InRoom{room}, id)
		if err != nil {
			return nil, "", err
		}
		rank := len(found)
		if rank > 0 {
			label = cmp.Or(label, found[0].Label)
		}
		if _, bridged := malformed(ctx, room); bridged {
			rank += 2
		}
		if rank > best {
			svc, best = room, rank
		}
	}
	if best == 0 && missing != nil {
		return nil, "", missing // it may belong in a missing room
	}
	return svc, label, nil
}

// workspaceIn is a workspace and its room.
type workspaceIn struct {
	mail.Workspace
	in InRoom
}

// workspaces returns the workspaces with an id in some rooms, at most one per room.
func workspaces(ctx context.Context, rooms []InRoom, id string) (found []workspaceIn, err error) {
	for _, room := range rooms {
		list, err := room.Workspaces(ctx)
		if err != nil {
			return nil, err
		}
		for _, w := range list {
			if string(w.ID) == id {
				found = append(found, workspaceIn{w, room})
			}
		}
	}
	return found, nil
}

// delete erases an entry from every room that has it, such as two rooms bridged to the same files.
func (d *door) delete(w http.ResponseWriter, r *http.Request, c *dialect.Call) (any, error) {
	in, first, err := d.find(r, c)
	for _, room := range in {
		// after the first erasure, a bridge may have erased it from the next room
		if again := room.Erase(r.Context(), first.ID); mail.CodeOf(again) != mail.NotFound {
			err = errors.Join(err, again)
		}
	}
	if err != nil {
		return nil, err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil, nil
}

// find returns the entry that a request names and the rooms that have it.
func (d *door) find(r *http.Request, c *dialect.Call) ([]InRoom, mail.Item, error) {
	rooms, missing := d.rooms(r.Context(), c)
	in, first, err := find(r.Context(), rooms, r.PathValue("id"))
	if missing != nil && mail.CodeOf(err) == mail.NotFound {
		err = missing // it may be in a missing room
	}
	return in, first, err
}

func (d *door) read(_ http.ResponseWriter, r *http.Request, c *dialect.Call) (any, error) {
	it, err := d.mark(r, c, mail.MarkRead)
	at, _ := readAt(&it)
	return struct {
		OK     bool    `json:"ok"`
		ID     mail.ID `json:"id"`
		ReadAt int64   `json:"readAt"`
	}{true, it.ID, int64(at)}, err
}

// unread also takes the entry out of the user's archive, because archived entries count as read.
func (d *door) unread(_ http.ResponseWriter, r *http.Request, c *dialect.Call) (any, error) {
	it, err := d.mark(r, c, mail.MarkUnarchived, mail.MarkUnread)
	return struct {
		OK bool    `json:"ok"`
		ID mail.ID `json:"id"`
	}{true, it.ID}, err
}

// mark marks an entry in every room that has it, and returns it in its new state. Messages in retention's archive
// stay there, and in the history.
func (d *door) mark(r *http.Request, c *dialect.Call, all ...mail.Mark) (mail.Item, error) {
	in, it, err := d.find(r, c)
	if err != nil {
		return it, err
	}
	for _, room := range in {
		for _, m := range all {
			q := mail.Marking{IDs: []mail.ID{it.ID}, Mark: m, InArchive: true}
			if _, err := room.Mark(r.Context(), q); err != nil {
				return it, err
			}
		}
	}
	return in[0].Message(r.Context(), it.ID)
}

func (d *door) file(w http.ResponseWriter, r *http.Request, c *dialect.Call) (any, error) {
	rooms, missing := d.rooms(r.Context(), c)
	found, err := workspaces(r.Context(), rooms, r.PathValue("id"))
	switch {
	case err != nil:
		return nil, err
	case len(found) == 0 && missing != nil:
		return nil, missing // it may be in a missing room
	case len(found) == 0:
		return nil, &DocumentError{Reason: NoWorkspace}
	case len(found) > 1:
		return nil, mail.Errorf(mail.Conflict, "several rooms have a workspace of this id; name one: ?room=")
	}
	doc, err := openAny(r.Context(), c, &found[0], r.URL.Query().Get("path"))
	if err != nil {
		return nil, err
	}
	defer doc.Close()
	if err := doc.shown(); err != nil {
		return nil, err
	}
	serve(w, r, &doc)
	return nil, nil
}

// openAny opens a workspace's document; on another machine, only if a message names it.
func openAny(ctx context.Context, c *dialect.Call, ws *workspaceIn, path string) (Document, error) {
	if ws.Machine == "" || ws.Machine == c.Machine {
		return OpenDocument(ws.Dir, path)
	}
	m, n, err := naming(ctx, ws.in, ws.ID, path)
	if err != nil {
		return Document{}, err
	}
	elsewhere := &Documents{Here: c.Machine, Ask: c.Ask, Heard: func(mail.Machine) mail.Time { return 0 }}
	return elsewhere.Open(ctx, ws.in.Name, m, n, &ws.Workspace)
}

// serve sends a document so that no browser runs it: as plain text or as a download.
func serve(w http.ResponseWriter, r *http.Request, doc *Document) {
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	h.Set("Cache-Control", "no-store") // documents change
	h.Set("Content-Type", "text/plain; charset=utf-8")
	if doc.Binary {
		h.Set("Content-Type", "application/octet-stream")
		h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": doc.Name}))
	}
	doc.Serve(w, r)
}

// Status returns the HTTP status for the reason.
func (e *DocumentError) Status() int {
	switch e.Reason {
	case PathRequired, InvalidPath:
		return http.StatusBadRequest
	case Elsewhere:
		return http.StatusServiceUnavailable
	case NoWorkspace, FileNotFound:
		return http.StatusNotFound
	case FileTooLarge:
		return http.StatusRequestEntityTooLarge
	}
	return http.StatusInternalServerError
}

// failure is an error answer of the original's routes.
type failure struct {
	Error     string `json:"error"`
	SizeBytes int64  `json:"sizeBytes,omitzero"`
}

// refuse replies with the error of a call.
func refuse(w http.ResponseWriter, c *dialect.Call, err error) {
	if why, ok := errors.AsType[*DocumentError](err); ok {
		if why.Err != nil {
			c.Log.Info("document not shown", "err", err)
		}
		reply(w, why.Status(), failure{Error: why.Reason, SizeBytes: why.Size})
		return
	}
	switch code := mail.CodeOf(err); code {
	case mail.NotFound:
		reply(w, http.StatusNotFound, failure{Error: string(code)})
	case mail.Invalid, mail.TooLarge:
		reply(w, http.StatusBadRequest, failure{Error: err.Error()})
	case mail.Denied:
		reply(w, http.StatusForbidden, failure{Error: err.Error()})
	case mail.Conflict:
		reply(w, http.StatusConflict, failure{Error: err.Error()})
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
	_, _ = w.Write(text) // a failed write means that the client has gone
}

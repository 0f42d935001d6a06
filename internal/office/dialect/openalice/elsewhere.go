package openalice

import (
	"bytes"
	"context"
	"io"
	"path/filepath"
	"slices"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
)

// Elsewhere is the reason of a DocumentError for a document that another machine could not supply.
const Elsewhere = "elsewhere"

// DocumentSubject is the subject of requests for documents between machines.
const DocumentSubject = "document"

// Documents reads the documents of workspaces, on other machines through their post offices. Those identify a
// document as the nth of a message, so that a machine sends only documents named in messages of its own agents. A
// nil *Documents reads this machine's files only.
type Documents struct {
	Here mail.Machine
	// Ask sends a request to the post office of another machine and returns its answer.
	Ask func(ctx context.Context, to mail.Machine, subject string, request []byte) ([]byte, error)
	// Heard returns when another machine was last heard from, or 0 if that is unknown.
	Heard func(mail.Machine) mail.Time
}

// request asks for a document, and answered is the answer.
type (
	request struct {
		Room    mail.RoomName `json:"room"`
		Message mail.ID       `json:"message"`
		N       int           `json:"n"`
	}
	answered struct {
		Text   []byte `json:"text,omitempty"`
		Reason string `json:"reason,omitempty"` // of a DocumentError
		Size   int64  `json:"size,omitzero"`
	}
)

// Read reads the nth document of a message from a workspace's agent, to show it: see OpenDocument. Every error is a
// *DocumentError.
func (d *Documents) Read(ctx context.Context, room mail.RoomName, m *mail.Message, n int,
	ws *mail.Workspace) (Document, error) {
	doc, err := d.Open(ctx, room, m, n, ws)
	if err != nil {
		return doc, err
	}
	defer doc.Close()
	return doc, doc.shown()
}

// Open opens the nth document of a message from a workspace's agent, to serve it; the caller closes it. A document
// from another machine arrives in one message and so has at most MaxDocument bytes. Every error is a *DocumentError.
func (d *Documents) Open(ctx context.Context, room mail.RoomName, m *mail.Message, n int,
	ws *mail.Workspace) (Document, error) {
	path := m.Docs[n].Path
	if d == nil || ws.Machine == "" || ws.Machine == d.Here {
		return OpenDocument(ws.Dir, path)
	}
	var said answered
	text, err := jsonx.Marshal(request{room, m.ID, n})
	if err == nil {
		text, err = d.Ask(ctx, ws.Machine, DocumentSubject, text)
	}
	if err == nil {
		err = jsonx.UnmarshalLenient(text, &said)
	}
	switch {
	case err != nil:
		return Document{}, &DocumentError{Reason: Elsewhere, Machine: ws.Machine, Heard: d.Heard(ws.Machine), Err: err}
	case said.Reason != "":
		return Document{}, &DocumentError{Reason: said.Reason, Size: said.Size}
	case len(said.Text) > MaxDocument:
		return Document{}, &DocumentError{Reason: FileTooLarge, Size: int64(len(said.Text))}
	}
	size := int64(len(said.Text))
	return Document{Name: filepath.Base(path), Text: said.Text, Size: size, Binary: binary(said.Text, size),
		content: bytes.NewReader(said.Text)}, nil
}

// Answer answers another machine's request for a document on this one.
func (d *Documents) Answer(ctx context.Context, office mail.Office, text []byte) ([]byte, error) {
	var ask request
	if err := jsonx.Unmarshal(text, &ask); err != nil {
		return nil, mail.Errorf(mail.Invalid, "invalid request for a document: %v", err)
	}
	svc, err := office.Room(ctx, ask.Room, mail.User)
	if err != nil {
		return nil, err
	}
	it, err := svc.Message(ctx, ask.Message)
	if err != nil {
		return nil, err
	}
	if ask.N < 0 || ask.N >= len(it.Docs) {
		return nil, mail.Errorf(mail.NotFound, "the message %s has no such document", ask.Message)
	}
	all, err := svc.Workspaces(ctx)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(all, func(ws mail.Workspace) bool { return ws.ID == it.From.Signer() })
	if i < 0 || all[i].Machine != d.Here {
		return jsonx.Marshal(answered{Reason: NoWorkspace})
	}
	doc, err := OpenDocument(all[i].Dir, it.Docs[ask.N].Path)
	if err == nil {
		defer doc.Close()
		text, err = doc.all()
	}
	if why, ok := err.(*DocumentError); ok {
		return jsonx.Marshal(answered{Reason: why.Reason, Size: why.Size})
	}
	return jsonx.Marshal(answered{Text: text})
}

// all returns the whole content of a document that is not large.
func (d *Document) all() ([]byte, error) {
	if d.Large() {
		return nil, &DocumentError{Reason: FileTooLarge, Size: d.Size}
	}
	text := make([]byte, d.Size)
	_, err := d.content.Seek(0, io.SeekStart)
	if err == nil {
		_, err = io.ReadFull(d.content, text)
	}
	if err != nil {
		return nil, &DocumentError{Reason: ReadFailed, Err: err}
	}
	return text, nil
}

// naming returns the newest message of a workspace's agent that names a document, and the document's index in it.
func naming(ctx context.Context, svc mail.Service, ws mail.Name, path string) (*mail.Message, int, error) {
	page, err := svc.History(ctx, mail.HistoryQuery{From: string(mail.AgentAddress(ws)), Limit: mail.MaxLimit})
	if err != nil {
		return nil, 0, err
	}
	for _, it := range slices.Backward(page.Messages) {
		if n := slices.IndexFunc(it.Docs, func(d mail.Doc) bool { return d.Path == path }); n >= 0 {
			return &it.Message, n, nil
		}
	}
	return nil, 0, &DocumentError{Reason: FileNotFound}
}

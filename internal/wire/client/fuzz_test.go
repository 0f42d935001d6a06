package client

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"testing"

	"pennypost/internal/mail"
)

// FuzzWatch checks that whatever a far end streams, the watch passes events on, and continues after the last of them.
func FuzzWatch(f *testing.F) {
	for _, s := range []string{
		"id: 1\nevent: message\ndata: {\"seq\":1,\"message\":{\"id\":\"m\"}}\n\n: alive\n\ndata: {\"seq\":2}\n\n",
		"data: {\"seq\":1}", "data: {\"seq\":-1}\n", "data: \n", "data: {\"seq\":1}\r\n\r\n", "\xff\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		w := &watch[mail.Event]{events: make(chan mail.Event), place: func(e *mail.Event) mail.Seq { return e.Seq }}
		last := make(chan mail.Seq)
		go func() {
			seq := mail.Seq(7)
			for e := range w.events {
				seq = e.Seq
			}
			last <- seq
		}()
		conn := &connection{body: io.NopCloser(bytes.NewReader(stream)), cancel: func() {}}
		after, _, err := w.read(context.Background(), conn, 7)
		close(w.events)
		if want := <-last; after != want || err != nil && mail.CodeOf(err) != mail.Internal {
			t.Errorf("%q: after event %d it would go on behind %d: %v", stream, want, after, err)
		}
	})
}

// FuzzProblem checks that every unsuccessful answer becomes an error with a code and a text.
func FuzzProblem(f *testing.F) {
	f.Add(404, "application/problem+json", []byte(`{"code":"not_found","detail":"no"}`))
	f.Add(502, "text/html", []byte(`<h1>Bad Gateway</h1>`))
	f.Add(400, "application/problem+json; x", []byte(`{"code":5}`))
	f.Fuzz(func(t *testing.T, status int, kind string, body []byte) {
		err := problem(&http.Response{StatusCode: status, Header: http.Header{"Content-Type": {kind}},
			Body: io.NopCloser(bytes.NewReader(body))})
		if mail.CodeOf(err) == "" {
			t.Errorf("%d %q %q is %v", status, kind, body, err)
		}
	})
}

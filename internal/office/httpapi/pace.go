package httpapi

import (
	"io"
	"net/http"
	"time"
)

// How slowly the body of a request may come.
const (
	bodyGrace = 10 * time.Second // for whatever makes a client late
	bodyRate  = 16 << 10         // bytes a second besides: what the slowest link brings that anybody works over
)

// Pace wraps everything that a post office serves and gives every body, whoever sends it, ten seconds and one more for
// each 16 KiB that came. A read that waits longer fails, and the connection ends with the request. A ResponseWriter
// without deadlines is one of a test.
func Pace(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength != 0 {
			rc := http.NewResponseController(w)
			// Also for a body that no handler reads: net/http reads it before it sends the answer.
			_ = rc.SetReadDeadline(time.Now().Add(bodyGrace))
			r = r.WithContext(r.Context()) // the server goes on to use its own
			r.Body = &pacedBody{ReadCloser: r.Body, rc: rc}
		}
		next.ServeHTTP(w, r)
	})
}

// pacedBody moves the deadline of its connection with what it has read.
type pacedBody struct {
	io.ReadCloser
	rc  *http.ResponseController
	due time.Time // zero before the first read: a handler may have had to do something else
}

// Read implements io.Reader. At the end of the body, the server takes the deadline back.
func (b *pacedBody) Read(p []byte) (int, error) {
	if b.due.IsZero() {
		b.due = time.Now().Add(bodyGrace)
		_ = b.rc.SetReadDeadline(b.due)
	}
	n, err := b.ReadCloser.Read(p)
	if err == nil {
		b.due = b.due.Add(time.Duration(n) * time.Second / bodyRate)
		_ = b.rc.SetReadDeadline(b.due)
	}
	return n, err
}

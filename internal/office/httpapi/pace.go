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
			body := &pacedBody{ReadCloser: r.Body, rc: http.NewResponseController(w), due: time.Now().Add(bodyGrace)}
			// Also for a body that no handler reads: net/http reads it before it sends the answer.
			_ = body.rc.SetReadDeadline(body.due)
			r = r.WithContext(r.Context()) // the server goes on to use its own
			r.Body = body
		}
		next.ServeHTTP(w, r)
	})
}

// pacedBody moves the deadline of its connection with what it has read.
type pacedBody struct {
	io.ReadCloser
	rc     *http.ResponseController
	due    time.Time
	begun  bool
	earned time.Duration // by what was read since due was set
}

// late is how long a handler may do something else before it reads the body, at the expense of whoever sends that. To
// move the deadline costs more than to read a small body, which comes in one piece.
const late = 100 * time.Millisecond

// Read implements io.Reader. At the end of the body, the server takes the deadline back.
func (b *pacedBody) Read(p []byte) (int, error) {
	if passed := bodyGrace - time.Until(b.due); !b.begun && passed > late {
		b.earned = passed
	}
	b.begun = true
	if b.earned > 0 {
		b.due, b.earned = b.due.Add(b.earned), 0
		_ = b.rc.SetReadDeadline(b.due)
	}
	n, err := b.ReadCloser.Read(p)
	b.earned += time.Duration(n) * time.Second / bodyRate
	return n, err
}

package httpapi

import (
	"io"
	"net/http"
	"time"
)

// The slowest pace of a request's body.
const (
	bodyGrace = 10 * time.Second // for any delay of a client
	bodyRate  = 16 << 10         // bytes a second beyond that: the slowest link that people work over
)

// Pace wraps everything that a post office serves and gives every body, whoever sends it, ten seconds plus one for
// each 16 KiB received. A read that waits longer fails, and the connection ends with the request. A ResponseWriter
// without deadlines is one of a test.
func Pace(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength != 0 {
			body := &pacedBody{ReadCloser: r.Body, rc: http.NewResponseController(w), due: time.Now().Add(bodyGrace)}
			// This also covers a body that no handler reads: net/http reads it before it sends the answer.
			_ = body.rc.SetReadDeadline(body.due)
			r = r.WithContext(r.Context()) // the server keeps using its own
			r.Body = body
		}
		next.ServeHTTP(w, r)
	})
}

// pacedBody extends the deadline of its connection as it is read.
type pacedBody struct {
	io.ReadCloser
	rc     *http.ResponseController
	due    time.Time
	begun  bool
	earned time.Duration // by the bytes read since due was set
}

// late is how long a handler may do other work before it reads the body, at the sender's expense. Moving the
// deadline costs more than reading a small body, which arrives in one piece.
const late = 100 * time.Millisecond

// Read implements io.Reader. At the end of the body, the server removes the deadline.
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

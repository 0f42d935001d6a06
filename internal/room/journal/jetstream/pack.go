package jetstream

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"

	"github.com/nats-io/nats.go"

	"pennypost/internal/mail"
)

// headerEncoding says how the text of a message is packed; without it, it stands there as it is.
const headerEncoding = "Content-Encoding"

const (
	// bytes: a checkpoint of a large room may be more than the servers take, a message never is
	packFrom    = 256 << 10
	mostPacked  = 64 << 20 // bytes that a text may have when it is unpacked
	forHeaders  = 2 << 10  // bytes that a message takes beside its text, and more
	packingName = "gzip"
)

// pack returns what is sent for a text.
func pack(text []byte) (data []byte, packed bool) {
	if len(text) < packFrom {
		return text, false
	}
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write(text) // a buffer takes all
	_ = w.Close()
	return b.Bytes(), true
}

// unpack returns the text of a message. Of one that cannot be unpacked it is what stands there, which is no event.
func unpack(m *nats.Msg) []byte {
	if m.Header.Get(headerEncoding) != packingName {
		return m.Data
	}
	r, err := gzip.NewReader(bytes.NewReader(m.Data))
	if err != nil {
		return m.Data
	}
	text, err := io.ReadAll(io.LimitReader(r, mostPacked))
	if err != nil {
		return m.Data
	}
	return text
}

// fits returns an error if the servers would not take a text: what others have put into files may be longer than any
// message that is sent. It is refused for good, so that a bridge lists it and goes on with what does fit.
func (c *Cluster) fits(text []byte) error {
	c.mu.Lock()
	most := c.mostPayload
	c.mu.Unlock()
	if most == 0 || len(text) < packFrom && int64(len(text)+forHeaders) <= most {
		return nil
	}
	data, _ := pack(text)
	if int64(len(data)+forHeaders) <= most && len(text) < mostPacked {
		return nil
	}
	return mail.Errorf(mail.TooLarge,
		"this takes %d bytes, and the NATS servers take %d in one message. Nothing of it "+
			"was stored. Set a larger max_payload in their configuration, %s or more", len(data), most,
		fmt.Sprint((len(data)>>20)+2, "MB"))
}

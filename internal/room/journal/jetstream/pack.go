package jetstream

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"

	"github.com/nats-io/nats.go"

	"pennypost/internal/mail"
)

// headerEncoding says how the text of a message is packed; without it, the text is not packed.
const headerEncoding = "Content-Encoding"

const (
	// bytes: a checkpoint of a large room may exceed the servers' limit, a message never does
	packFrom    = 256 << 10
	mostPacked  = 64 << 20 // bytes of a text when unpacked
	forHeaders  = 2 << 10  // bytes that a message takes in addition to its text, and a margin
	packingName = "gzip"
)

// pack returns the data to send for a text.
func pack(text []byte) (data []byte, packed bool) {
	if len(text) < packFrom {
		return text, false
	}
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write(text) // a buffer does not fail
	_ = w.Close()
	return b.Bytes(), true
}

// unpack returns the text of a message. If it cannot be unpacked, it returns the data as it is, which is no event.
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

// fits returns an error if the servers would not take a text: others may have put longer texts into files than any
// sent message. The error is permanent, so that a bridge lists the text and continues with those that fit.
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
		"this has %d bytes, and the NATS servers accept %d in one message. Nothing was stored. Set a larger "+
			"max_payload in their configuration, %s or more", len(data), most,
		fmt.Sprint((len(data)>>20)+2, "MB"))
}

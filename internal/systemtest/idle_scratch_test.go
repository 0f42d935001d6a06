package systemtest

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"pennypost/internal/room/journal/jetstream/natstest"
)

func TestScratchIdle(t *testing.T) {
	servers := natstest.Start(t, 3, natstest.Options{})
	o := newOffice(t)
	onServers(t, o, servers, "desk", "jetstream")
	o.mustServe(t)
	for _, r := range []string{"a", "b", "c"} {
		o.must(t, "send", "--to", "user", "--room", r, "--body", "first")
	}
	time.Sleep(10 * time.Second)
	read := func() (im, om, ib, ob int64) {
		for _, s := range servers.Servers {
			b, _ := s.Get("/connz")
			var c struct {
				Connections []struct {
					Name                                     string
					In_msgs, Out_msgs, In_bytes, Out_bytes int64
				}
			}
			json.Unmarshal(b, &c)
			for _, x := range c.Connections {
				if strings.HasPrefix(x.Name, "pennypost") {
					im += x.In_msgs
					om += x.Out_msgs
					ib += x.In_bytes
					ob += x.Out_bytes
				}
			}
		}
		return
	}
	a, b, c, d := read()
	time.Sleep(120 * time.Second)
	a2, b2, c2, d2 := read()
	t.Logf("per minute: to servers %d messages %d bytes, from servers %d messages %d bytes", (a2-a)/2, (c2-c)/2, (b2-b)/2, (d2-d)/2)
}

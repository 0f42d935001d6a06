package jetstream

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	// settingsPatience is how long servers have to report their settings.
	settingsPatience = time.Second
	// monitorPort is the servers' usual monitoring port.
	monitorPort = "8222"
	// oldest is the first server version with atomic batches.
	oldest = "2.12"
)

// Server is the settings that a NATS server reports.
type Server struct {
	ID, Name, Version string

	Synced   bool          // it syncs each write to its disk before it acknowledges it
	Interval time.Duration // how often it syncs otherwise
	Size     int           // number of servers in its cluster
}

// varz is the part of the servers' own description that matters here.
type varz struct {
	ID        string `json:"server_id"`
	Name      string `json:"server_name"`
	Version   string `json:"version"`
	Port      int    `json:"port"`
	JetStream struct {
		Config *struct {
			SyncInterval time.Duration `json:"sync_interval"`
			SyncAlways   bool          `json:"sync_always"`
		} `json:"config"`
		Meta struct {
			Size int `json:"cluster_size"`
		} `json:"meta"`
	} `json:"jetstream"`
}

func (v *varz) server() (Server, bool) {
	if v.ID == "" || v.JetStream.Config == nil {
		return Server{}, false
	}
	return Server{ID: v.ID, Name: cmp.Or(v.Name, v.ID), Version: v.Version, Synced: v.JetStream.Config.SyncAlways,
		Interval: v.JetStream.Config.SyncInterval, Size: max(v.JetStream.Meta.Size, 1)}, true
}

// ReadSettings reads the servers' settings: over nc, which works if the account may query the system account, and
// from their monitoring. Without monitor, it tries the usual port on the hosts of urls. Servers that do not report
// are left out.
func ReadSettings(ctx context.Context, nc *nats.Conn, urls, monitor []string) []Server {
	ctx, cancel := context.WithTimeout(ctx, settingsPatience)
	defer cancel()
	var mu sync.Mutex
	found := make(map[string]Server)
	add := func(v *varz) {
		if s, ok := v.server(); ok {
			mu.Lock()
			defer mu.Unlock()
			found[s.ID] = s
		}
	}
	var asking sync.WaitGroup
	asking.Go(func() { askSystem(ctx, nc, add) })
	for _, m := range monitor {
		asking.Go(func() {
			if v, ok := readMonitor(ctx, m); ok {
				add(v)
			}
		})
	}
	if len(monitor) == 0 {
		for _, u := range urls {
			asking.Go(func() {
				// another server on the same host may answer there
				if v, ok := readMonitor(ctx, usualMonitor(u)); ok && strconv.Itoa(v.Port) == portOf(u) {
					add(v)
				}
			})
		}
	}
	asking.Wait()
	servers := slices.Collect(maps.Values(found))
	slices.SortFunc(servers, func(a, b Server) int { return cmp.Compare(a.Name, b.Name) })
	return servers
}

// askSystem asks all servers over a connection. Most accounts are not allowed to, and get no answer.
func askSystem(ctx context.Context, nc *nats.Conn, add func(*varz)) {
	size, got := 1, 0
	askAll(ctx, nc, "$SYS.REQ.SERVER.PING.VARZ", nil, func(text []byte) (more bool) {
		var a struct {
			Data varz `json:"data"`
		}
		if json.Unmarshal(text, &a) == nil {
			size = max(size, a.Data.JetStream.Meta.Size)
			add(&a.Data)
		}
		got++
		return got < size
	})
}

// askAll sends a request that several servers answer. It calls f with each answer until f returns false, ctx ends, or
// no one answers.
func askAll(ctx context.Context, nc *nats.Conn, subject string, request []byte, f func([]byte) (more bool)) {
	if !nc.IsConnected() {
		return
	}
	inbox := nc.NewInbox()
	answers, err := nc.SubscribeSync(inbox)
	if err != nil {
		return
	}
	defer func() { _ = answers.Unsubscribe() }()
	if nc.PublishRequest(subject, inbox, request) != nil {
		return
	}
	for {
		msg, err := answers.NextMsgWithContext(ctx)
		if err != nil || !f(msg.Data) {
			return
		}
	}
}

// usualMonitor returns the usual address of a server's monitoring.
func usualMonitor(server string) string {
	u, err := url.Parse(server)
	if err != nil {
		return ""
	}
	return "http://" + net.JoinHostPort(u.Hostname(), monitorPort)
}

func portOf(server string) string {
	u, err := url.Parse(server)
	if err != nil {
		return ""
	}
	return cmp.Or(u.Port(), "4222")
}

// readMonitor reads the monitoring at an address.
func readMonitor(ctx context.Context, address string) (*varz, bool) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(address, "/")+"/varz", nil)
	if err != nil {
		return nil, false
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, false
	}
	defer res.Body.Close()
	var v varz
	err = json.NewDecoder(http.MaxBytesReader(nil, res.Body, 1<<20)).Decode(&v)
	return &v, err == nil
}

// Warnings returns the dangers for mail in the servers' settings, in words for the person. connected is the version
// of the connected server, urls how many servers the configuration names, replicas how many keep a room.
func Warnings(servers []Server, connected string, urls, replicas int) (out []string) {
	warn := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	size := urls
	for _, s := range servers {
		size = max(size, s.Size)
		if !s.Synced {
			warn("the NATS server %s syncs only every %v, not each write: if all replicas lose power, they lose "+
				"mail acknowledged since the last sync. Set in its configuration: jetstream { sync_interval: "+
				"always }",
				s.Name, s.Interval)
		}
		if tooOld(s.Version) {
			warn("the NATS server %s is version %s; %s or later is needed", s.Name, s.Version, oldest)
		}
	}
	if len(servers) == 0 && tooOld(connected) {
		warn("the NATS server is version %s; %s or later is needed", connected, oldest)
	}
	if unknown := size - len(servers); unknown > 0 {
		warn("cannot tell whether %d of the %d NATS servers sync each write. Check for sync_interval: always in "+
			"their configuration, or let Pennypost check: [journal] monitor "+
			"= [\"http://HOST:%s\"]", unknown, size, monitorPort)
	}
	if replicas < 3 {
		warn("rooms are stored on %d of the NATS servers: mail is lost if that many disks fail. Use replicas = 3",
			replicas)
	}
	if size > 1 && size%2 == 0 {
		warn("%d NATS servers tolerate no more failures than one server fewer would. Use %d or %d",
			size, size-1, size+1)
	}
	return out
}

// tooOld reports whether a version is before oldest; "" is unknown, and not too old.
func tooOld(version string) bool {
	major, rest, _ := strings.Cut(version, ".")
	minor, _, _ := strings.Cut(rest, ".")
	a, err := strconv.Atoi(major)
	b, err2 := strconv.Atoi(minor)
	return version != "" && err == nil && err2 == nil && (a < 2 || a == 2 && b < 12)
}

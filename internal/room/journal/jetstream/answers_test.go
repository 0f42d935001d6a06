package jetstream

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"pennypost/internal/mail"
	"pennypost/internal/room/journal"
	"pennypost/internal/room/journal/jetstream/natstest"
	"pennypost/internal/room/journal/jsonl"
)

// reply is the client library's result of a call.
type reply struct {
	err  error
	data string // of the answer, if err is nil
	// stored: the server has received the message before that
	stored bool
}

func (r reply) String() string {
	when := "before"
	if r.stored {
		when = "after"
	}
	return fmt.Sprintf("%v%s %s it is stored", r.err, r.data, when)
}

// faulty sits between a Cluster and the client library. From call number at on, it answers calls with replies; if
// last is set, it repeats the last of them.
type faulty struct {
	publish func(*nats.Msg) error
	request func(context.Context, *nats.Msg) (*nats.Msg, error)

	mu      sync.Mutex
	calls   int
	at      int
	replies []reply
	last    bool
}

// put installs it in a cluster.
func (y *faulty) put(c *Cluster) {
	y.publish, y.request = c.publish, c.request
	c.publish = func(m *nats.Msg) error {
		r, ok := y.next()
		if !ok {
			return y.publish(m)
		}
		if r.stored {
			_ = y.publish(m)
		}
		return r.err
	}
	c.request = func(ctx context.Context, m *nats.Msg) (*nats.Msg, error) {
		r, ok := y.next()
		if !ok {
			return y.request(ctx, m)
		}
		if r.stored {
			own, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			_, _ = y.request(own, m)
		}
		if r.err == context.DeadlineExceeded {
			<-ctx.Done()
		}
		return &nats.Msg{Data: []byte(r.data)}, r.err
	}
}

// next counts a call, and returns its reply, if it is not left to the library.
func (y *faulty) next() (reply, bool) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.calls++
	if len(y.replies) == 0 || y.at == 0 || y.calls < y.at {
		return reply{}, false
	}
	r := y.replies[0]
	if len(y.replies) > 1 || !y.last {
		y.replies = y.replies[1:]
	}
	return r, true
}

// set replies to calls from number at on; 0: to none. It returns the number of calls since the last set.
func (y *faulty) set(at int, last bool, replies ...reply) (calls int) {
	y.mu.Lock()
	defer y.mu.Unlock()
	calls, y.calls = y.calls, 0
	y.at, y.last, y.replies = at, last, replies
	return calls
}

// no returns the servers' error answer with a code.
func no(code int) string {
	return fmt.Sprintf(`{"error":{"code":500,"err_code":%d,"description":"no %d"},"stream":"x","seq":0}`, code, code)
}

// proofs are the replies that prove that nothing is stored.
func proofs() (out []reply) {
	for _, err := range []error{nats.ErrReconnectBufExceeded, nats.ErrNoResponders, nats.ErrMaxPayload} {
		out = append(out, reply{err: err})
	}
	for _, code := range []int{10002, 10023, 10047, 10054, 10060, 10097, 10109, 10164, 10174, 10175, 10176, 10177,
		10179, 10185, 10199, 10200, 10210} {
		out = append(out, reply{data: no(code)})
	}
	return out
}

// doubts are the replies with an unknown outcome: all other client errors, including unknown ones, malformed answers,
// and error codes that servers also return after they have stored something.
func doubts() (out []reply) {
	for _, err := range []error{nats.ErrConnectionClosed, nats.ErrConnectionDraining, nats.ErrConnectionReconnecting,
		nats.ErrDisconnected, nats.ErrTimeout, nats.ErrNoServers, nats.ErrAuthorization, nats.ErrAuthExpired,
		nats.ErrPermissionViolation, nats.ErrBadSubscription, nats.ErrInvalidConnection, nats.ErrInvalidMsg,
		nats.ErrInvalidContext, nats.ErrHeadersNotSupported, nats.ErrBadSubject, nats.ErrSlowConsumer,
		nats.ErrStaleConnection, nats.ErrNoStreamResponse, nats.ErrMaxConnectionsExceeded,
		context.DeadlineExceeded, context.Canceled, net.ErrClosed, errors.New("an error of a later version"),
		fmt.Errorf("in a coat: %w", nats.ErrReconnectBufExceeded)} {
		out = append(out, reply{err: err})
	}
	for _, code := range []int{0, 10003, 10008, 10009, 10059, 10077, 10118, 10158, 10194, 19999} {
		out = append(out, reply{data: no(code)})
	}
	for _, data := range []string{"", "{}", "[]", "null", "+OK", `{"seq":-1}`, `{"stream":"x"}`} {
		out = append(out, reply{data: data})
	}
	return out
}

// answerCase is an operation during which the library's reply to one call is faked.
type answerCase struct {
	op      string
	at      int
	last    bool
	replies []reply
}

func (c answerCase) String() string {
	return fmt.Sprint(c.op, ", call ", c.at, ": ", c.replies, " again and again: ", c.last)
}

// appends are the operations, and the number of events in each.
var appends = map[string]int{"one": 1, "batch": 3, "behind": 1, "parts": maxBatch + 2}

// answerCases lists the operations with each reply to each call.
func answerCases(calls map[string]int) (out []answerCase) {
	for op, n := range calls {
		for at := 1; at <= n; at++ {
			if op == "parts" && at != 1 && at < maxBatch { // all calls of a batch but the first and last are alike
				continue
			}
			for _, last := range []bool{false, true} {
				if op == "parts" && !last {
					continue
				}
				for _, r := range proofs() {
					out = append(out, answerCase{op, at, last, []reply{r}})
				}
				for _, r := range doubts() {
					stored := r
					stored.stored = true
					out = append(out, answerCase{op, at, last, []reply{r}}, answerCase{op, at, last, []reply{stored}})
				}
			}
			for _, r := range proofs() {
				lost := reply{err: nats.ErrDisconnected, stored: true}
				out = append(out, answerCase{op, at, true, []reply{lost, r}})
			}
			out = append(out, answerCase{op, at, true, []reply{{err: nats.ErrDisconnected, stored: true},
				{data: no(codeWrongLast)}}})
		}
	}
	return out
}

// TestEachAnswerOfTheClient replaces the reply to each storing call with each error of the client library and each
// error code of the servers, once and repeatedly, before the servers have stored the event and after. A sender is
// told that nothing is stored only if nothing is, that it is stored only if it is there once, and otherwise that the
// outcome is unknown. The room recovers by itself.
func TestEachAnswerOfTheClient(t *testing.T) {
	servers := natstest.Start(t, 1, natstest.Options{Sync: "1m"})
	calls := make(map[string]int)
	probe := newAnswering(t, servers, "probe")
	for op := range appends {
		probe.faulty.set(0, false)
		if v := probe.do(t, op, "clean"+op); v.err != nil {
			t.Fatal(op, v.err)
		}
		calls[op] = probe.faulty.set(0, false)
	}
	cases := make(chan answerCase)
	go func() {
		defer close(cases)
		all := answerCases(calls)
		t.Logf("calls %v, %d cases", calls, len(all))
		for _, c := range all {
			cases <- c
		}
	}()
	var working sync.WaitGroup
	var mu sync.Mutex
	refused := make(map[reply]bool)
	for i := range 64 {
		working.Go(func() {
			a := newAnswering(t, servers, fmt.Sprint("room", i))
			for c := range cases {
				a.try(t, c)
			}
			a.check(t)
			mu.Lock()
			defer mu.Unlock()
			for _, r := range a.refused {
				refused[r] = true
			}
		})
	}
	working.Wait()
	for _, r := range proofs() { // a busy machine may leave some of these in doubt now and then
		if !refused[r] {
			t.Errorf("%v: nobody was told that nothing was stored", r)
		}
	}
}

// TestNewStreamWithoutLeader checks that a room is made even if the servers' list of rooms is new and, like any new
// stream, has no leader yet.
func TestNewStreamWithoutLeader(t *testing.T) {
	t.Parallel()
	c, err := Connect(t.Context(), Config{URLs: natstest.Start(t, 1, natstest.Options{}).URLs(), Replicas: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	var f faulty
	f.put(c)
	nobody := reply{err: nats.ErrNoResponders}
	f.set(1, false, nobody, nobody, nobody)
	if _, err := c.lane(t.Context(), "lab", true); err != nil {
		t.Error(err)
	}
	if calls := f.set(0, false); calls < 4 {
		t.Errorf("%d calls, want more than three", calls)
	}
}

// answering is a room whose client replies are faked.
type answering struct {
	faulty  faulty
	cluster *Cluster
	journal *Journal
	n       int
	told    []verdict
	refused []reply // those after which senders were told that nothing was stored
}

// verdict is what the sender of events was told.
type verdict struct {
	of   answerCase
	ids  []string
	none bool // AppendAfter reports another event there
	err  error
}

func newAnswering(t *testing.T, servers *natstest.Cluster, room string) *answering {
	c, err := Connect(t.Context(), Config{URLs: servers.URLs(), Replicas: 1})
	if err != nil {
		t.Error(err)
		return nil
	}
	a := &answering{cluster: c}
	a.faulty.put(c)
	dir := t.TempDir()
	for range 20 { // a busy machine may need several tries
		if a.journal, err = c.Open(t.Context(), room, dir, jsonl.Options{}); err == nil {
			break
		}
	}
	if err != nil {
		t.Error(err)
		runtime.Goexit()
	}
	t.Cleanup(func() { a.journal.Close(); c.Close() })
	return a
}

// do appends events whose bodies begin with word.
func (a *answering) do(t *testing.T, op, word string) (v verdict) {
	var events []mail.Event
	for i := range appends[op] {
		v.ids = append(v.ids, fmt.Sprint(word, "-", i))
		events = append(events, said(v.ids[i]))
	}
	if op != "behind" {
		_, v.err = a.journal.Append(t.Context(), events...)
		return v
	}
	_, ok, err := a.journal.AppendAfter(t.Context(), a.journal.Last(), events[0])
	v.none, v.err = !ok && err == nil, err
	return v
}

// try runs a case, records what its sender is told, and checks that the room recovers.
func (a *answering) try(t *testing.T, c answerCase) {
	a.n++
	a.faulty.set(c.at, c.last, c.replies...)
	v := a.do(t, c.op, fmt.Sprint("case", a.n))
	a.faulty.set(0, false)
	v.of = c
	a.told = append(a.told, v)
	unknown := errors.Is(v.err, journal.ErrUnknown)
	if v.err != nil {
		text := v.err.Error()
		if mail.CodeOf(v.err) != mail.Unavailable || strings.Contains(text, "<nil>") ||
			unknown && !strings.Contains(text, "with the same key") {
			t.Errorf("%v: %v", c, v.err)
		}
	}
	if c.last && len(c.replies) == 1 && v.err != nil && !unknown {
		a.refused = append(a.refused, c.replies[0])
	}
	deadline := time.Now().Add(time.Minute)
	for i := 0; ; i++ {
		after := a.do(t, "one", fmt.Sprint("after", a.n, ".", i))
		after.of = c
		a.told = append(a.told, after)
		if after.err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Errorf("%v: the room does not go on: %v", c, after.err)
			return
		}
	}
}

// bodies counts the bodies in the stream.
func (a *answering) bodies(t *testing.T) (map[string]int, error) {
	l, err := a.cluster.lane(t.Context(), a.journal.room, false)
	if err != nil {
		return nil, err
	}
	count := make(map[string]int)
	return count, a.journal.read(t.Context(), l, 0, l.end, func(in arrival) error {
		if e, ok := jsonl.Decode(in.seq, in.text); ok && e.Message != nil {
			count[e.Message.Body]++
		}
		return nil
	})
}

// check compares what senders were told with the stream.
func (a *answering) check(t *testing.T) {
	var count map[string]int
	err := errors.New("not read")
	for range 10 { // the connection may be switching servers just now
		if count, err = a.bodies(t); err == nil {
			break
		}
		time.Sleep(time.Second)
	}
	if err != nil {
		t.Error(err)
		return
	}
	for _, v := range a.told {
		for _, id := range v.ids {
			n := count[id]
			switch {
			case v.none && n > 0:
				t.Errorf("%v: it was said that something else is there, and it is this", v.of)
			case v.none || n < 2 && errors.Is(v.err, journal.ErrUnknown):
			case v.err == nil && n != 1:
				t.Errorf("%v: acknowledged, and there %d times", v.of, n)
			case v.err != nil && n > 0:
				t.Errorf("%v: there %d times, and its sender was told: %v", v.of, n, v.err)
			}
		}
	}
}

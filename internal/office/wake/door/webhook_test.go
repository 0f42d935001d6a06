package door

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
	"pennypost/internal/office/wake"
	"pennypost/internal/policy"
)

var webhookSecret = []byte("a secret of twenty-four b")

// hook starts a server and returns a door to it.
func hook(t *testing.T, h http.HandlerFunc) *Webhook { return hookWithin(t, 5*time.Second, h) }

func hookWithin(t *testing.T, limit time.Duration, h http.HandlerFunc) *Webhook {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return NewWebhook(s.URL+"/hook?key=hidden", webhookSecret, limit)
}

func TestWebhook(t *testing.T) {
	type body struct {
		Type      string
		Timestamp mail.Time
		Data      wake.Ring
	}
	var got body
	w := hook(t, func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		if err != nil || r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s %v (%v)", r.Method, r.Header, err)
		}
		id, at := r.Header.Get("Webhook-Id"), r.Header.Get("Webhook-Timestamp")
		mac := hmac.New(sha256.New, webhookSecret)
		mac.Write([]byte(id + "." + at + "." + string(text)))
		if sig := r.Header.Get("Webhook-Signature"); sig != "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)) {
			t.Errorf("the signature %s is not that of the body", sig)
		}
		if n, err := strconv.ParseInt(at, 10, 64); err != nil || time.Since(time.Unix(n, 0)) > time.Minute ||
			id != "ring_1" {
			t.Errorf("id %q at %q", id, at)
		}
		if err := jsonx.Unmarshal(lower(text), &got); err != nil {
			t.Error(err)
		}
		w.WriteHeader(http.StatusAccepted)
	})
	if err := w.Ring(t.Context(), testRing()); err != nil {
		t.Fatalf("Ring = %v", err)
	}
	if diff := cmp.Diff(testRing(), got.Data); diff != "" || got.Type != "pennypost.wake" || got.Timestamp == 0 {
		t.Errorf("the body is %+v\n%s", got, diff)
	}
}

// lower renames the envelope's members to those of the test's struct.
func lower(b []byte) []byte {
	return []byte(strings.NewReplacer(`"type":`, `"Type":`, `"timestamp":`, `"Timestamp":`, `"data":`,
		`"Data":`).Replace(string(b)))
}

func TestWebhookAnswers(t *testing.T) {
	elsewhere := 0
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere++ }))
	defer other.Close()
	for status, want := range map[int]string{
		200: "", 204: "", 299: "", 304: "304", 400: "answered 400 Bad Request", 404: "404", 429: "429",
		500: "answered 500", 503: "503", 410: "410 Gone: the door is off",
	} {
		w := hook(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			if status != 204 && status != 304 {
				io.WriteString(w, strings.Repeat("x", 1<<20))
			}
		})
		err := w.Ring(t.Context(), testRing())
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%d: Ring = %v, want %q", status, err, want)
		}
		if errors.Is(err, wake.ErrOff) != (status == 410) {
			t.Errorf("%d: off is %v", status, errors.Is(err, wake.ErrOff))
		}
	}
	for _, status := range []int{301, 302, 303, 307, 308} {
		w := hook(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other.URL, status) })
		if err := w.Ring(t.Context(), testRing()); err == nil ||
			!strings.Contains(err.Error(), "redirects to another host") {
			t.Errorf("%d to another host: Ring = %v", status, err)
		}
	}
	if elsewhere > 0 {
		t.Errorf("the other host was asked %d times", elsewhere)
	}
	reached := false
	w := hook(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/hook" {
			http.Redirect(w, r, "/moved", http.StatusPermanentRedirect)
			return
		}
		text, err := io.ReadAll(r.Body)
		reached = err == nil && r.Method == http.MethodPost && len(text) > 0 && r.Header.Get("Webhook-Signature") != ""
	})
	if err := w.Ring(t.Context(), testRing()); err != nil || !reached {
		t.Errorf("308 on the same host: Ring = %v, reached %v", err, reached)
	}
	w = hook(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/hook", http.StatusTemporaryRedirect)
	})
	if err := w.Ring(t.Context(), testRing()); err == nil {
		t.Error("a circle of redirects is rung")
	}
}

// A stalled server is given up; a missing server is an error; neither reveals the address, whose path may be a secret.
func TestWebhookStalls(t *testing.T) {
	release := make(chan struct{})
	stall := func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}
	defer close(release)
	check := func(what string, err error) {
		t.Helper()
		if err == nil || strings.Contains(err.Error(), "hidden") || strings.Contains(err.Error(), "/hook") {
			t.Errorf("%s: Ring = %v, want an error that does not tell the address", what, err)
		}
	}
	check("timeout", hookWithin(t, 100*time.Millisecond, stall).Ring(t.Context(), testRing()))
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	check("context", hookWithin(t, time.Minute, stall).Ring(ctx, testRing()))
	check("nobody there", NewWebhook("http://127.0.0.1:1/hook?key=hidden", webhookSecret,
		time.Second).Ring(t.Context(), testRing()))
	check("no address", NewWebhook("http://a b/hook?key=hidden", webhookSecret, time.Second).Ring(t.Context(),
		testRing()))
}

// A server that fails, then stalls, then recovers is rung in the end, with the id of the first attempt.
func TestWebhookRecovers(t *testing.T) {
	n := 0
	ids := make(map[string]bool)
	w := hookWithin(t, 200*time.Millisecond, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body) // the server notices a closed connection only after it has read the body
		ids[r.Header.Get("Webhook-Id")] = true
		switch n++; n {
		case 1:
			w.WriteHeader(http.StatusServiceUnavailable)
		case 2:
			<-r.Context().Done()
		}
	})
	b := ringing(t, wake.NewDoors(wake.Entry{For: "agent:bob", Wakers: []wake.Waker{w}}),
		policy.Ladder{FirstRetry: 10 * time.Millisecond}, mail.Presence{Name: "bob"})
	id := b.ask("bob")
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		d := b.delivery(id)
		if d.State == mail.Notified && d.Door == "webhook" {
			break
		}
		if time.Since(began) > 20*time.Second {
			t.Fatalf("the delivery is %+v after 20 s", d)
		}
	}
	if n != 3 || len(ids) != 1 {
		t.Errorf("the server was asked %d times under %d ids, want 3 and 1", n, len(ids))
	}
}

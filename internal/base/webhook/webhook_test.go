package webhook

import (
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"
)

// TestSign is the example in the specification of Standard Webhooks.
func TestSign(t *testing.T) {
	key, err := base64.StdEncoding.DecodeString("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	if err != nil {
		t.Fatal(err)
	}
	h := http.Header{}
	sign(h, key, "msg_p5jXN8AQM9LWM0D4loKWxJek", time.Unix(1614265330, 0), []byte(`{"test": 2432232314}`))
	if got, want := h.Get("webhook-signature"), "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="; got != want {
		t.Errorf("signature %s, want %s", got, want)
	}
}

// An address from a stranger leads nowhere that only we can reach, by any name or redirect.
func TestPublic(t *testing.T) {
	reached := false
	inside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
	defer inside.Close()
	t.Setenv("HTTP_PROXY", inside.URL)
	for _, to := range []string{inside.URL, strings.Replace(inside.URL, "127.0.0.1", "localhost", 1),
		strings.Replace(inside.URL, "127.0.0.1", "[::ffff:127.0.0.1]", 1)} {
		_, err := New(to, nil, time.Second).Public().PostBody(t.Context(), "id", []byte("{}"), nil)
		if err == nil || reached {
			t.Errorf("%s was reached: %v", to, err)
		}
	}
	_, err := New(inside.URL, nil, time.Second).PostBody(t.Context(), "id", []byte("{}"), nil)
	if err != nil || !reached {
		t.Errorf("of the person's own addresses, %s was not reached: %v", inside.URL, err)
	}
	for address, want := range map[string]bool{"1.1.1.1": true, "2606:4700::1111": true, "::ffff:8.8.8.8": true,
		"127.0.0.1": false, "10.0.0.1": false, "172.16.0.1": false, "192.168.0.1": false, "169.254.169.254": false,
		"100.100.100.200": false, "0.0.0.0": false, "0.1.2.3": false, "224.0.0.1": false, "255.255.255.255": false,
		"::": false, "::1": false, "fe80::1%eth0": false, "fd00::1": false, "::ffff:10.0.0.1": false,
		"64:ff9b::a00:1": false, "2002:a00:1::": false, "ff02::1": false} {
		if got := IsPublic(netip.MustParseAddr(address)); got != want {
			t.Errorf("IsPublic(%s) = %t, want %t", address, got, want)
		}
	}
}

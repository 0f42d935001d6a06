package web

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// FuzzForms tests that any query or form on any page is at worst refused.
func FuzzForms(f *testing.F) {
	paths := []string{"/shop/", "/shop/history", "/shop/flow", "/shop/agents", "/shop/stuck", "/shop/compose",
		"/shop/palette"}
	for i, s := range []string{"q=x&from=ann&since=2h&until=2026-05-10", "before=-1&limit=1e9", "since=65535w",
		"type=status,,&agent=%00", "%zz&;", "to=agent:ann&body=x&key=k", "q=\xff"} {
		f.Add(uint8(i), s)
	}
	f.Fuzz(func(t *testing.T, which uint8, raw string) {
		if !strings.ContainsFunc(raw, func(r rune) bool { return r < ' ' || r == ' ' || r == '#' || r > '~' }) {
			b := newFixture(t)
			path := paths[int(which)%len(paths)]
			if a := b.Get(path + "?" + raw); a.Code >= 500 {
				t.Errorf("GET %s?%s: %d %.200s", path, raw, a.Code, a.Body)
			}
		}
		form, err := url.ParseQuery(raw)
		if err != nil {
			return
		}
		b := newFixture(t)
		for _, path := range []string{"/shop/send", "/shop/mark", "/shop/compose"} {
			if a := b.Post(path, form); a.Code >= http.StatusInternalServerError {
				t.Errorf("POST %s %q: %d %.200s", path, raw, a.Code, a.Body)
			}
		}
	})
}

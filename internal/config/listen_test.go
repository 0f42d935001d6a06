package config

import (
	"testing"

	"pennypost/internal/mail"
)

func TestCheckListen(t *testing.T) {
	for _, tt := range []struct {
		address  string
		insecure bool
		want     mail.Code
	}{
		{"127.0.0.1:0", false, ""}, {"[::1]:80", false, ""}, {"localhost:80", false, ""},
		{":8765", false, mail.Invalid}, {":8765", true, mail.Invalid}, {"127.0.0.1", false, mail.Invalid},
		{"x", false, mail.Invalid}, {"8765", false, mail.Invalid}, {"127.0.0.1:99999", false, mail.Invalid},
		{"0.0.0.0:80", false, mail.Denied}, {"192.168.1.5:80", false, mail.Denied},
		{"example.org:80", false, mail.Denied},
		{"0.0.0.0:80", true, ""}, {"[::]:80", false, mail.Denied},
	} {
		c := Config{Listen: tt.address, Insecure: tt.insecure}
		if got := mail.CodeOf(c.CheckServe()); got != tt.want {
			t.Errorf("listen = %q, insecure = %v: %q, want %q", tt.address, tt.insecure, got, tt.want)
		}
	}
}

package notify

import (
	"bufio"
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"mime"
	"mime/quotedprintable"
	"net"
	netmail "net/mail"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"pennypost/internal/config"
)

// certificate makes a certificate for this machine, and returns a configuration that trusts it.
func certificate(t *testing.T, dir string) (trust *tls.Config, cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "127.0.0.1"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, NotAfter: time.Now().Add(time.Hour), IsCA: true,
		BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	pkcs, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for file, block := range map[string]*pem.Block{
		cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: pkcs},
	} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(parsed)
	return &tls.Config{RootCAs: pool}, cert, key
}

// mailServer starts a real server and returns its port and the directory of its mail.
func mailServer(t *testing.T, mode, cert, key string) (port int, dir string) {
	t.Helper()
	python := "/usr/bin/python3" // the Python of Debian's packages
	if exec.Command(python, "-c", "import aiosmtpd").Run() != nil {
		python = "python3"
	}
	if exec.Command(python, "-c", "import aiosmtpd").Run() != nil {
		t.Skip("no mail server here; on Debian: apt install python3-aiosmtpd")
	}
	dir = t.TempDir()
	cmd := exec.Command(python, filepath.Join("testdata", "smtpd.py"), cert, key, mode, dir)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); _ = cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the mail server says %q: %v", errs.String(), err)
	}
	if port, err = strconv.Atoi(strings.TrimSpace(line)); err != nil {
		t.Fatal(err)
	}
	return port, dir
}

// TestSMTP sends through a real server, with STARTTLS and with TLS, and checks the mail that arrived.
func TestSMTP(t *testing.T) {
	trust, cert, key := certificate(t, t.TempDir())
	for _, mode := range []string{config.SMTPStartTLS, config.SMTPTLS} {
		t.Run(mode, func(t *testing.T) {
			port, dir := mailServer(t, mode, cert, key)
			password := filepath.Join(t.TempDir(), "password")
			if err := os.WriteFile(password, []byte("open sesame\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			s := &SMTP{Roots: trust, Getenv: func(string) string { return "" }, Config: config.NotifySMTP{
				Host: "127.0.0.1", Port: port, TLS: mode, User: "me", PasswordFile: password,
				From: "Pennypost <post@example.org>", To: []string{"me@example.org", "Phone <phone@example.org>"}}}
			n := &Note{ID: "note_x", Subject: "小克 asks: Which port?", Text: "Line one.\n.\nGrüße, <b>line</b> three.",
				Urgent: true, URL: "https://box.example/@lab/?m=msg_1"}
			answer, err := s.Send(t.Context(), n)
			if err != nil || answer != "250 2.0.0 kept as 1" {
				t.Fatalf("Send = %q, %v", answer, err)
			}
			raw, err := os.ReadFile(filepath.Join(dir, "1"))
			if err != nil {
				t.Fatal(err)
			}
			envelope, text, _ := strings.Cut(string(raw), "\n")
			if envelope != "post@example.org me@example.org,phone@example.org" {
				t.Errorf("the envelope is %q", envelope)
			}
			m, err := netmail.ReadMessage(strings.NewReader(text))
			if err != nil {
				t.Fatal(err)
			}
			subject, err := new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject"))
			body, err2 := io.ReadAll(quotedprintable.NewReader(m.Body))
			if err != nil || err2 != nil || subject != n.Subject ||
				string(
					body) != "Line one.\r\n.\r\nGrüße, <b>line</b> "+
					"three.\r\n\r\nhttps://box.example/@lab/?m=msg_1\r\n" {
				t.Errorf("%q\n%q (%v, %v)", subject, body, err, err2)
			}
			if _, err := m.Header.Date(); err != nil || m.Header.Get("Message-Id") != "<note_x@example.org>" ||
				m.Header.Get("Importance") != "high" || m.Header.Get("Auto-Submitted") != "auto-generated" {
				t.Errorf("the head is %v (%v)", m.Header, err)
			}

			s.Config.To = []string{"nobody@example.org"}
			_, err = s.Send(t.Context(), n)
			if err == nil || !strings.Contains(err.Error(), "nobody@example.org: 550 5.1.1 no such user here") {
				t.Errorf("a recipient that is not known: %v", err)
			}
			s.Config.PasswordFile, s.Config.PasswordVariable = "", "X"
			s.Getenv = func(string) string { return "wrong" }
			if _, err := s.Send(t.Context(), n); err == nil || !strings.Contains(err.Error(), "535") ||
				strings.Contains(err.Error(), "wrong") {
				t.Errorf("a wrong password: %v", err)
			}
			s.Roots = nil
			if _, err := s.Send(t.Context(), n); err == nil || !strings.Contains(err.Error(), "certificate") {
				t.Errorf("a certificate that nobody knows: %v", err)
			}
		})
	}
}

// TestMailOptions: mail about a question lists its options, and mail without text does not.
func TestMailOptions(t *testing.T) {
	ask := func(subject string, options ...string) Letter {
		return Letter{Room: "lab", ID: "msg_1", From: "agent:ann", Subject: subject, Question: true, options: options}
	}
	text := func(with bool, letters ...Letter) string {
		raw := letterText(compose("note_x", letters, "", with), &netmail.Address{Address: "p@example.org"}, nil)
		m, err := netmail.ReadMessage(bytes.NewReader(raw))
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(quotedprintable.NewReader(m.Body))
		if err != nil {
			t.Fatal(err)
		}
		return strings.ReplaceAll(string(body), "\r\n", "\n")
	}
	port, host := ask("Which port?", "8080", "90\n90"), ask("Which host?", "a", "b")
	if got, want := text(true, port), "In room lab.\n\n  1  8080\n  2  90 90\n"; got != want {
		t.Errorf("a question:\n%q, want\n%q", got, want)
	}
	if got, want := text(true, port, host), "• ann asks: Which port?\n• ann asks: Which host?\n"+
		"\nann asks: Which port?\n  1  8080\n  2  90 90\n\nann asks: Which host?\n  1  a\n  2  b\n"; got != want {
		t.Errorf("two questions:\n%q, want\n%q", got, want)
	}
	if got := text(false, port); strings.Contains(got, "8080") {
		t.Errorf("without text: %q", got)
	}
}

// TestSMTPKeepsPassword: a server without TLS gets neither user nor password, and a silent one times out.
func TestSMTPKeepsPassword(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	heard := make(chan string, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		var all strings.Builder
		io.WriteString(c, "220 here\r\n")
		for in := bufio.NewScanner(c); in.Scan(); {
			all.WriteString(in.Text() + "\n")
			if strings.HasPrefix(in.Text(), "EHLO") {
				io.WriteString(c, "250-here\r\n250 AUTH PLAIN\r\n")
			}
		}
		heard <- all.String()
	}()
	s := &SMTP{Getenv: func(string) string { return "hidden" }, Config: config.NotifySMTP{Host: "127.0.0.1",
		Port: l.Addr().(*net.TCPAddr).Port, User: "me", PasswordVariable: "X", From: "a@b.c", To: []string{"a@b.c"}}}
	if _, err := s.Send(t.Context(), &Note{Subject: "x"}); err == nil || !strings.Contains(err.Error(), "STARTTLS") {
		t.Errorf("Send = %v", err)
	}
	if said := <-heard; strings.Contains(said, "AUTH") {
		t.Errorf("the server heard %q", said)
	}
}

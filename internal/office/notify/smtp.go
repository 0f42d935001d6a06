package notify

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"mime"
	"mime/quotedprintable"
	"net"
	netmail "net/mail"
	"net/smtp"
	"net/textproto"
	"os"
	"strconv"
	"strings"
	"time"

	"pennypost/internal/base/child"
	"pennypost/internal/config"
)

// SMTP sends mail through a server.
type SMTP struct {
	Config config.NotifySMTP
	Getenv func(string) string
	Roots  *tls.Config // trusted certificates; nil: the system's
}

var _ Channel = (*SMTP)(nil)

// smtpTime is the limit for a delivery. Servers that delay their greeting against spam take up to half of it.
const smtpTime = time.Minute

func (s *SMTP) Send(ctx context.Context, n *Note) (string, error) {
	password, err := s.password()
	if err != nil {
		return "", err
	}
	from, err := netmail.ParseAddress(s.Config.From)
	if err != nil {
		return "", errors.New("from is not a mail address")
	}
	ctx, cancel := context.WithTimeout(ctx, smtpTime)
	defer cancel()
	c, err := s.dial(ctx)
	if err != nil {
		return "", inWordsOf(err)
	}
	defer c.Close()
	if s.Config.User != "" {
		if err := c.Auth(smtp.PlainAuth("", s.Config.User, password, s.Config.Host)); err != nil {
			return "", fmt.Errorf("rejected user and password: %w", inWordsOf(err))
		}
	}
	if err := c.Mail(from.Address); err != nil {
		return "", fmt.Errorf("rejected the sender: %w", inWordsOf(err))
	}
	to := make([]string, 0, len(s.Config.To))
	for _, one := range s.Config.To {
		address, err := netmail.ParseAddress(one)
		if err != nil {
			return "", fmt.Errorf("to has %q, which is not a mail address", one)
		}
		if err := c.Rcpt(address.Address); err != nil {
			return "", fmt.Errorf("rejected the recipient %s: %w", address.Address, inWordsOf(err))
		}
		to = append(to, address.String())
	}
	answer, err := data(c.Text, letterText(n, from, to))
	if err != nil {
		return "", fmt.Errorf("rejected the mail: %w", inWordsOf(err))
	}
	_ = c.Quit() // it has the mail
	return answer, nil
}

// password reads the password that the configuration points to.
func (s *SMTP) password() (string, error) {
	switch {
	case s.Config.PasswordFile != "":
		return firstLine("password", s.Config.PasswordFile)
	case s.Config.PasswordVariable != "":
		if p := s.Getenv(s.Config.PasswordVariable); p != "" {
			return p, nil
		}
		return "", fmt.Errorf("the variable %s is not set in the post office's environment",
			s.Config.PasswordVariable)
	}
	return "", nil
}

// firstLine reads a secret from a file.
func firstLine(secret, file string) (string, error) {
	text, err := os.ReadFile(file)
	first, _, _ := strings.Cut(string(text), "\n")
	if first = strings.TrimRight(first, "\r"); err != nil || first == "" {
		return "", errors.Join(errors.New("the "+secret+" file cannot be read or is empty"), err)
	}
	return first, nil
}

// dial connects, and returns a connection under TLS unless the configuration says that there is none.
func (s *SMTP) dial(ctx context.Context) (*smtp.Client, error) {
	own := &tls.Config{}
	if s.Roots != nil {
		own = s.Roots.Clone()
	}
	own.ServerName = s.Config.Host
	address := net.JoinHostPort(s.Config.Host, strconv.Itoa(s.Config.PortOrDefault()))
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	if until, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(until)
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	if s.Config.TLS == config.SMTPTLS {
		conn = tls.Client(conn, own)
	}
	c, err := smtp.NewClient(conn, s.Config.Host)
	if err != nil {
		stop()
		conn.Close()
		return nil, err
	}
	if s.Config.TLS == "" || s.Config.TLS == config.SMTPStartTLS {
		if ok, _ := c.Extension("STARTTLS"); !ok {
			err = errors.New("does not offer STARTTLS; if it speaks TLS from the start, set tls = \"tls\"")
		} else {
			err = c.StartTLS(own)
		}
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// data sends the mail and returns the server's answer, which net/smtp does not.
func data(c *textproto.Conn, text []byte) (string, error) {
	id, err := c.Cmd("DATA")
	if err != nil {
		return "", err
	}
	c.StartResponse(id)
	defer c.EndResponse(id)
	if _, _, err := c.ReadResponse(354); err != nil {
		return "", err
	}
	w := c.DotWriter()
	_, err = w.Write(text)
	if err = errors.Join(err, w.Close()); err != nil {
		return "", err
	}
	code, said, err := c.ReadResponse(250)
	return child.Plain(fmt.Sprintf("%d %s", code, said)), err
}

// letterText returns a note as mail.
func letterText(n *Note, from *netmail.Address, to []string) []byte {
	var b bytes.Buffer
	head := func(name, value string) { fmt.Fprintf(&b, "%s: %s\r\n", name, value) }
	_, domain, _ := strings.Cut(from.Address, "@")
	head("From", from.String())
	head("To", strings.Join(to, ", "))
	head("Subject", mime.QEncoding.Encode("utf-8", n.Subject))
	head("Date", time.Now().Format(time.RFC1123Z))
	head("Message-ID", "<"+n.ID+"@"+domain+">")
	head("MIME-Version", "1.0")
	head("Content-Type", "text/plain; charset=utf-8")
	head("Content-Transfer-Encoding", "quoted-printable")
	head("Auto-Submitted", "auto-generated") // RFC 3834: prevents automatic replies
	if n.Urgent {
		head("Importance", "high")
	}
	b.WriteString("\r\n")
	body := quotedprintable.NewWriter(&b)
	fmt.Fprintf(body, "%s\r\n", strings.ReplaceAll(n.Text, "\n", "\r\n"))
	for i := range n.Letters {
		l := &n.Letters[i]
		if len(l.Options) > 0 && len(n.Letters) > 1 {
			fmt.Fprintf(body, "\r\n%s\r\n", l.headline())
		} else if len(l.Options) > 0 {
			fmt.Fprint(body, "\r\n")
		}
		for i, o := range l.Options {
			fmt.Fprintf(body, "  %d  %s\r\n", i+1, shortened(o, maxShown))
		}
	}
	if n.URL != "" {
		fmt.Fprintf(body, "\r\n%s\r\n", n.URL)
	}
	_ = body.Close() // it writes to memory
	return b.Bytes()
}

// inWordsOf returns a server's or the network's error in words for people.
func inWordsOf(err error) error {
	if said, ok := errors.AsType[*textproto.Error](err); ok {
		return errors.New(child.Plain(fmt.Sprintf("%d %s", said.Code, said.Msg)))
	}
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		return errors.New("did not answer in time")
	}
	return err
}

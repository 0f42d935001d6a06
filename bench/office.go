package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"pennypost/bench/drive"
	"pennypost/internal/mail"
	"pennypost/internal/persontest"
	"pennypost/internal/wire"
	"pennypost/internal/wire/client"
)

// office is a post office as users run it, but without limits on agents. The doors share it, and each has a room.
type office struct {
	front  string // the program
	seat   *persontest.Terminal
	typed  string // runs the program in a terminal: a client of its own for each MCP server
	env    []string
	socket string
	http   string
	rooms  *client.Office
	cmd    *exec.Cmd
}

const officeConfig = "[room.limits]\nrepeat_window = \"forever\"\nper_minute = -1\nexchanges = -1\n"

// openOffice starts a post office, once; with the rooms on three NATS servers if shared is set.
func (b *bench) openOffice(shared bool) (*office, error) {
	if b.offices[shared] != nil {
		return b.offices[shared], nil
	}
	config := officeConfig
	if shared {
		servers, err := b.servers()
		if err != nil {
			return nil, err
		}
		urls, err := json.Marshal(servers.URLs())
		if err != nil {
			return nil, err
		}
		config += "[journal]\nkind = \"jetstream\"\nurls = " + string(urls) + "\n"
	}
	program, err := b.build(".", ".")
	if err != nil {
		return nil, err
	}
	front, err := b.build(".", "./cmd/pennypost")
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(b.dir, "office")
	if err != nil {
		return nil, err
	}
	bin, home := filepath.Join(dir, "bin"), filepath.Join(dir, "home")
	for _, dir := range []string{bin, home} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return nil, err
		}
	}
	o := &office{front: filepath.Join(bin, "pennypost")}
	if err := errors.Join(os.Rename(program, filepath.Join(bin, "pennypostd")), os.Rename(front, o.front),
		os.WriteFile(filepath.Join(home, "config.toml"), []byte(config), 0o600)); err != nil {
		return nil, err
	}
	o.env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + b.dir, "PENNYPOST_HOME=" + home,
		"PENNYPOST_LOG=warn", "PENNYPOST_ROOM=cli"}
	o.cmd = o.command("serve", "--json", "--listen", "127.0.0.1:0")
	out, err := o.cmd.StdoutPipe()
	if err == nil {
		err = o.cmd.Start()
	}
	if err != nil {
		return nil, err
	}
	var at struct{ Socket, HTTP string }
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &at)
	}
	if err == nil {
		o.socket, o.http = at.Socket, at.HTTP
		var token []byte
		if token, err = os.ReadFile(filepath.Join(home, "token")); err == nil {
			o.rooms, err = client.New(client.Options{Socket: at.Socket, Token: strings.TrimSpace(string(token))})
		}
	}
	if err == nil {
		o.seat, err = persontest.Open()
	}
	if err == nil {
		o.typed, err = o.seat.Program(o.front)
	}
	if err != nil {
		return nil, fmt.Errorf("the post office says %q: %w", line, err)
	}
	b.offices[shared] = o
	return o, nil
}

func (o *office) command(args ...string) *exec.Cmd {
	cmd := exec.Command(o.front, args...)
	cmd.Env = o.env
	cmd.Stderr = os.Stderr
	return cmd
}

func (o *office) stop() {
	o.seat.Close()
	_ = o.cmd.Process.Signal(os.Interrupt)
	_ = o.cmd.Wait()
}

// dial connects a client to a post office.
type dial func(o *office, name mail.Name, token string) (drive.Client, error)

// door returns a worker whose clients dial connects to a room of their own, where they are registered.
func (b *bench) door(shared bool, room mail.RoomName, dial dial) (worker, error) {
	o, err := b.openOffice(shared)
	if err != nil {
		return nil, err
	}
	user, err := o.rooms.Room(context.Background(), room, mail.User)
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	tokens := make(map[mail.Name]string)
	admit := func(name mail.Name) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		if tokens[name] != "" {
			return tokens[name], nil
		}
		_, err := user.Register(context.Background(), mail.Presence{Name: name})
		if err == nil {
			tokens[name], err = user.Token(context.Background(), name)
		}
		return tokens[name], err
	}
	for _, name := range mailboxes {
		if _, err := admit(mail.Name(name)); err != nil {
			return nil, err
		}
	}
	return inProcess{func(name string) (drive.Client, error) {
		token, err := admit(mail.Name(name))
		if err != nil {
			return nil, err
		}
		return dial(o, mail.Name(name), token)
	}, func() {}}, nil
}

func startHTTP(b *bench, _ string) (worker, error) { return b.door(false, "http", dialHTTP) }

// startSharedHTTP is a post office as users run it, with rooms on three servers.
func startSharedHTTP(b *bench, _ string) (worker, error) { return b.door(true, "http", dialHTTP) }

func dialHTTP(o *office, name mail.Name, _ string) (drive.Client, error) {
	conn, err := net.Dial("unix", o.socket)
	if err != nil {
		return nil, err
	}
	agent := http.Header{}
	wire.SetAgent(agent, name)
	return &httpClient{connection: newConnection(conn, agent)}, nil
}

// httpClient is Pennypost's own API on the Unix socket.
type httpClient struct {
	*connection
	last mail.Seq
}

const roomPath = "/api/v1/rooms/http"

func (c *httpClient) Send(to, body string) error {
	text, err := json.Marshal(mail.Draft{To: mail.Recipients{to}, Body: body})
	if err == nil {
		_, err = c.request(http.MethodPost, roomPath+"/messages", text)
	}
	return err
}

func (c *httpClient) Receive() error {
	if c.last == 0 {
		text, err := c.request(http.MethodGet, roomPath, nil)
		if err != nil {
			return err
		}
		var st mail.RoomStatus
		if err := json.Unmarshal(text, &st); err != nil {
			return err
		}
		c.last = st.Seq
	}
	var it mail.Item
	for it.Seq == 0 { // null: timed out
		text, err := c.request(http.MethodGet, roomPath+"/wait?"+url.Values{"after": {fmt.Sprint(c.last)}}.Encode(),
			nil)
		if err != nil {
			return err
		}
		if err := json.Unmarshal(text, &it); err != nil {
			return err
		}
	}
	c.last = it.Seq
	return nil
}

func (c *httpClient) Look() (int, error) {
	text, err := c.request(http.MethodGet, roomPath+"/inbox", nil)
	if err != nil {
		return 0, err
	}
	var page mail.Page
	err = json.Unmarshal(text, &page)
	return len(page.Messages), err
}

// connection makes one HTTP request after another on one connection. It is cheaper than http.Client, because it runs
// on the cores under measurement.
type connection struct {
	conn   net.Conn
	in     *bufio.Reader
	out    bytes.Buffer
	header []byte // of each request
	answer http.Header
}

func newConnection(conn net.Conn, header http.Header) *connection {
	c := &connection{conn: conn, in: bufio.NewReader(conn)}
	var b bytes.Buffer
	_ = header.Write(&b)
	c.header = append([]byte("Host: 127.0.0.1\r\nContent-Type: application/json\r\n"), b.Bytes()...)
	return c
}

func (c *connection) Close() error { return c.conn.Close() }

// request returns the whole body of the answer.
func (c *connection) request(method, path string, body []byte, more ...string) ([]byte, error) {
	c.out.Reset()
	fmt.Fprintf(&c.out, "%s %s HTTP/1.1\r\nContent-Length: %d\r\n", method, path, len(body))
	c.out.Write(c.header)
	for _, line := range more {
		c.out.WriteString(line)
		c.out.WriteString("\r\n")
	}
	c.out.WriteString("\r\n")
	c.out.Write(body)
	_ = c.conn.SetDeadline(time.Now().Add(time.Minute))
	if _, err := c.conn.Write(c.out.Bytes()); err != nil {
		return nil, err
	}
	resp, err := http.ReadResponse(c.in, nil)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode >= 300 {
		err = fmt.Errorf("%s %s: %s: %s", method, path, resp.Status, text)
	}
	c.answer = resp.Header
	return text, err
}

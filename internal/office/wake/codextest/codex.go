package codextest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"pennypost/internal/base/process"
)

// Main runs the window or the server if this package started the program. TestMain calls it first, and it returns if
// the program is a test.
func Main() {
	switch {
	case filepath.Base(os.Args[0]) != program || os.Getenv(marker) == "":
		return
	case slices.Contains(os.Args, "app-server"):
		serveCommands(os.Stdin, os.Stdout)
	default:
		listen()
	}
	os.Exit(0)
}

const program = "codex"

// marker is a variable that distinguishes programs started by this package from other test programs of that name.
const marker = "CODEXTEST"

// environ returns the environment of such a program.
func environ(of []string) []string {
	if of == nil {
		of = os.Environ()
	}
	return append(slices.Clone(of), marker+"=1")
}

// Codex is one Codex home with its windows, and the messages queued for their threads.
type Codex struct {
	Home string

	program string // a link to this program

	mu     sync.Mutex
	shown  map[string]*Window // by thread: the window that began it, or resumed it last
	queued map[string][]string
}

// New returns a Codex without windows, with its home below dir.
func New(t testing.TB, dir string) *Codex {
	t.Helper()
	self, err := os.Executable()
	c := &Codex{Home: filepath.Join(dir, ".codex"), program: filepath.Join(dir, program),
		shown: make(map[string]*Window), queued: make(map[string][]string)}
	if err == nil {
		err = os.Symlink(self, c.program)
	}
	if err != nil {
		t.Fatal(err)
	}
	Serve(t, c.Home, func(text []byte) [][]byte { return Reply(text, c.answer) })
	return c
}

func (c *Codex) answer(method string, params map[string]any) (any, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	thread, _ := params["threadId"].(string)
	switch method {
	case "initialize":
		return map[string]any{}, nil
	case "mcpServerStatus/list":
		data := []any{}
		if w := c.shown[thread]; w != nil && params["serverName"] == "codex_tui" {
			data = append(data, map[string]any{"name": "codex_tui", "runtimeStatus": "connected",
				"httpOrigin": fmt.Sprintf("http://127.0.0.1:%d", w.port)}) // even if it has ended
		}
		return map[string]any{"data": data, "nextCursor": nil}, nil
	case "thread/read":
		return map[string]any{"thread": map[string]any{"status": map[string]any{"type": "idle"}}}, nil
	case "thread/queue/list":
		return map[string]any{"data": []any{}, "nextCursor": nil}, nil
	case "thread/queue/add":
		text := params["input"].([]any)[0].(map[string]any)["text"].(string)
		c.queued[thread] = append(c.queued[thread], text)
		return map[string]any{"queuedSubmission": map[string]any{"id": "q" + thread}}, nil
	case "thread/queue/start":
		return map[string]any{"turn": map[string]any{}}, nil
	}
	return nil, errors.New("unknown method " + method)
}

// Queued returns the messages queued for a thread.
func (c *Codex) Queued(thread string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.queued[thread])
}

// Window is a program with a person at it.
type Window struct {
	Program string // as package process names it

	codex *Codex
	port  int
	cmd   *exec.Cmd
	stdin io.Closer
}

// Window opens a window with the given variables; nil: those of the test.
func (c *Codex) Window(t testing.TB, variables []string) *Window {
	t.Helper()
	cmd := exec.Command(c.program)
	cmd.Env = environ(variables)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	w := &Window{codex: c, cmd: cmd, stdin: in}
	if tree := process.Tree(cmd.Process.Pid); len(tree) > 0 {
		w.Program = tree[0].Key
	}
	t.Cleanup(w.Close)
	line, _ := bufio.NewReader(out).ReadString('\n')
	if w.port, err = strconv.Atoi(strings.TrimSpace(line)); err != nil {
		t.Fatalf("the window says %q", line)
	}
	return w
}

// Begin begins or resumes a thread in the window.
func (w *Window) Begin(thread string) {
	w.codex.mu.Lock()
	defer w.codex.mu.Unlock()
	w.codex.shown[thread] = w
}

// Close closes the window. Its threads stay with the server.
func (w *Window) Close() {
	_ = w.stdin.Close() // makes it exit
	_ = w.cmd.Wait()
}

// listen is the main function of a window.
func listen() {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return
	}
	fmt.Println(l.Addr().(*net.TCPAddr).Port)
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// Server is the program under which hooks, MCP servers and shells of all windows run.
type Server struct {
	mu  sync.Mutex
	in  *json.Encoder
	out *json.Decoder
}

// Command is a program that the server runs.
type Command struct {
	Args    []string
	Dir     string
	Environ []string // added to the server's
	Stdin   string
	Lines   int // how many lines of output to read before closing its standard input
}

// Ended is the result of a command.
type Ended struct {
	Out, Err string
	Exit     int
}

// Server starts a server with the variables of the window that needs it first.
func (c *Codex) Server(t testing.TB, variables []string) *Server {
	t.Helper()
	cmd := exec.Command(c.program, "app-server", "--listen", "unix://", "--managed-daemon")
	cmd.Env = environ(variables)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close() // makes it exit
		_ = cmd.Wait()
	})
	return &Server{in: json.NewEncoder(in), out: json.NewDecoder(out)}
}

// Run runs a command under the server.
func (s *Server) Run(t testing.TB, c Command) (e Ended) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.in.Encode(c)
	if err == nil {
		err = s.out.Decode(&e)
	}
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// serveCommands is the main function of the server.
func serveCommands(in io.Reader, out io.Writer) {
	commands, ended := json.NewDecoder(in), json.NewEncoder(out)
	for {
		var c Command
		if commands.Decode(&c) != nil || ended.Encode(c.run()) != nil {
			return
		}
	}
}

func (c *Command) run() (e Ended) {
	cmd := exec.Command(c.Args[0], c.Args[1:]...)
	cmd.Dir, cmd.Env = c.Dir, append(os.Environ(), c.Environ...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return Ended{Err: err.Error(), Exit: -1}
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return Ended{Err: err.Error(), Exit: -1}
	}
	_, _ = io.WriteString(in, c.Stdin) // it may not read its input
	from := bufio.NewReader(out)
	for range c.Lines {
		line, _ := from.ReadString('\n')
		e.Out += line
	}
	_ = in.Close()
	rest, _ := io.ReadAll(from)
	_ = cmd.Wait() // the exit status is returned
	return Ended{e.Out + string(rest), stderr.String(), cmd.ProcessState.ExitCode()}
}

package door

import (
	"context"
	"errors"
	"net/url"
	"strconv"

	"pennypost/internal/base/process"
	"pennypost/internal/office/appserver"
)

// Each window of Codex (0.169.0) serves its own tools to the threads that it begins or resumes: it listens on a local
// port, and tells the app-server which one. No other process can listen there, so the port leads from a thread to its
// current window.

// windowServer is the name under which a thread knows its window's tools.
const windowServer = "codex_tui"

// Window returns the program that shows a thread, if one app-server serves several windows of a home. An error says
// that it is not known: the thread is in no window, or its window was closed.
func (c *Codex) Window(ctx context.Context, home, thread string) (program string, err error) {
	shared, err := appserver.Dial(ctx, home)
	if err != nil {
		return "", err
	}
	defer shared.Close()
	var out struct {
		Data []struct {
			Origin string `json:"httpOrigin"`
		} `json:"data"`
	}
	err = shared.Call("mcpServerStatus/list",
		map[string]any{"threadId": thread, "serverName": windowServer, "detail": "toolsAndAuthOnly"}, &out)
	if err != nil {
		return "", err
	}
	for _, s := range out.Data {
		if program = listener(s.Origin); program != "" {
			return program, nil
		}
	}
	return "", errors.New("no Codex window listens for the thread")
}

// listener returns the Codex program that listens at an origin on this machine, "" if there is none.
func listener(origin string) string {
	at, err := url.Parse(origin)
	if err != nil || at.Hostname() != "127.0.0.1" {
		return ""
	}
	port, err := strconv.ParseUint(at.Port(), 10, 16)
	if err != nil {
		return ""
	}
	return process.Listener(uint16(port), "codex")
}

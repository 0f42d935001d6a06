package mcpserver

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"testing"

	"pennypost/internal/mail"
)

// A channel announces itself, never in the stateless era, and notifies only after the session is initialized.
func TestChannel(t *testing.T) {
	room := openRoom(t)
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	channel := NewChannel(outW)
	n := NewNative(Mailbox{Service: room.As("ann"), Room: "lab", Agent: "ann", Version: "test", Channel: channel})
	defer n.Close()
	ended := make(chan error, 1)
	go func() {
		err := ServeStdio(context.Background(), n.Server, inR, channel)
		outW.Close()
		ended <- err
	}()
	lines := bufio.NewScanner(outR)
	next := func(into any) {
		t.Helper()
		if !lines.Scan() {
			t.Fatal("nothing is written", lines.Err())
		}
		if err := json.Unmarshal(lines.Bytes(), into); err != nil {
			t.Fatalf("%s: %v", lines.Text(), err)
		}
	}
	var refused struct{ Error struct{ Code int } }
	fmt.Fprintln(inW,
		`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`)
	if next(&refused); refused.Error.Code == 0 {
		t.Errorf("a channel speaks the stateless era: %s", lines.Text())
	}
	var hello struct {
		Result struct {
			ProtocolVersion string
			Capabilities    struct{ Experimental map[string]map[string]any }
		}
	}
	fmt.Fprintln(inW,
		`{"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
	next(&hello)
	if c, ok := hello.Result.Capabilities.Experimental["claude/channel"]; !ok || c == nil || len(c) > 0 ||
		hello.Result.ProtocolVersion != "2025-11-25" {
		t.Errorf("it says of itself %s", lines.Text())
	}
	select {
	case <-channel.Ready():
		t.Error("it is ready before the client is")
	default:
	}
	fmt.Fprintln(inW, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	<-channel.Ready()
	go func() { _ = channel.Notify(&mail.Rung{ID: "ring_1", Text: "2 <unread>"}) }()
	var told struct {
		JSONRPC, Method string
		ID              *int
		Params          struct {
			Content string
			Meta    map[string]string
		}
	}
	if next(&told); told.Method != "notifications/claude/channel" || told.ID != nil || told.JSONRPC != "2.0" ||
		told.Params.Content != "2 <unread>" || told.Params.Meta["ring"] != "ring_1" {
		t.Errorf("the notification is %s", lines.Text())
	}
	inW.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	plain := connectNative(t, room, "bea")
	if c := plain.InitializeResult().Capabilities.Experimental; len(c) > 0 {
		t.Errorf("a server that is no channel announces %v", c)
	}
}

// Package telegramtest has a server for the part of Telegram's Bot API that we use, as
// https://core.telegram.org/bots/api (10.1) describes it, and people who write to the bot.
package telegramtest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf16"
)

// Token is the bot's.
const Token = "4839574812:AAFD39kkdpWt3ywyRZergyOLMaJhac60qc_"

// Message is a message shown in a chat.
type Message struct {
	ID      int64
	Chat    int64
	Text    string
	ReplyTo int64
	Buttons []Button
	Edited  int // how often
}

// Button is a button below a message.
type Button struct {
	Text string `json:"text"`
	Data string `json:"callback_data"`
}

// Server is Telegram for one bot.
type Server struct {
	URL string

	mu       sync.Mutex
	changed  chan struct{} // closed at every change
	update   int64         // the last number
	queue    []update      // unconfirmed
	message  int64         // the last number
	shown    []Message
	presses  map[string]string // answers, by query
	pressing int
	polls    int            // number of waiting getUpdates calls
	newest   int            // the latest one, which ends the others
	called   map[string]int // by method
	flood    map[string]int // how many more times a method answers 429
	offsets  []int64        // offsets passed to getUpdates
	broken   []string       // answers to the next getUpdates calls instead of updates
}

type update struct {
	id   int64
	kind string
	text []byte
}

// New starts a server.
func New(t testing.TB) *Server {
	t.Helper()
	s := &Server{changed: make(chan struct{}), update: 870_000_000, message: 100, presses: make(map[string]string),
		called: make(map[string]int), flood: make(map[string]int)}
	server := httptest.NewServer(s)
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	s.URL = server.URL
	return s
}

// change wakes the waiters. The caller holds s.mu.
func (s *Server) change() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// ask has the parameters of all methods.
type ask struct {
	ChatID  int64    `json:"chat_id"`
	Text    string   `json:"text"`
	Message int64    `json:"message_id"`
	Query   string   `json:"callback_query_id"`
	Offset  int64    `json:"offset"`
	Limit   int      `json:"limit"`
	Timeout int      `json:"timeout"`
	Allowed []string `json:"allowed_updates"`
	Reply   *struct {
		ID int64 `json:"message_id"`
	} `json:"reply_parameters"`
	Markup struct {
		Rows [][]Button `json:"inline_keyboard"`
	} `json:"reply_markup"`
}

// refusal is an error answer.
type refusal struct {
	status int
	about  string
	after  int
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	token, method, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/bot"), "/")
	var in ask
	body, _ := io.ReadAll(r.Body)
	var result any
	var no *refusal
	switch err := json.Unmarshal(body, &in); {
	case token != Token:
		no = &refusal{status: 401, about: "Unauthorized"}
	case err != nil || r.Header.Get("Content-Type") != "application/json":
		no = &refusal{status: 400, about: "Bad Request: can't parse the parameters"}
	default:
		result, no = s.call(r, method, &in)
	}
	if raw, ok := result.(rawAnswer); ok {
		_, _ = io.WriteString(w, string(raw))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if no == nil {
		_ = json.NewEncoder(w).Encode(map[string]any{"ok": true, "result": result})
		return
	}
	answer := map[string]any{"ok": false, "error_code": no.status, "description": no.about}
	if no.after > 0 {
		answer["parameters"] = map[string]int{"retry_after": no.after}
	}
	w.WriteHeader(no.status)
	_ = json.NewEncoder(w).Encode(answer)
}

type rawAnswer string

func (s *Server) call(r *http.Request, method string, in *ask) (any, *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.called[method]++
	if s.flood[method] > 0 {
		s.flood[method]--
		return nil, &refusal{429, "Too Many Requests: retry after 1", 1}
	}
	switch method {
	case "getMe":
		return map[string]any{"id": 4839574812, "is_bot": true, "first_name": "Desk", "username": "desk_bot"}, nil
	case "getUpdates":
		return s.getUpdates(r, in)
	case "sendMessage":
		return s.sendMessage(in)
	case "editMessageText":
		return s.edit(in)
	case "answerCallbackQuery":
		if _, known := s.presses[in.Query]; !known || len([]rune(in.Text)) > 200 {
			return nil, &refusal{status: 400, about: "Bad Request: query is too old or query ID is invalid"}
		}
		s.presses[in.Query] = in.Text
		s.change()
		return true, nil
	}
	return nil, &refusal{status: 404, about: "Not Found"}
}

// getUpdates waits for updates. The caller holds s.mu.
func (s *Server) getUpdates(r *http.Request, in *ask) (any, *refusal) {
	s.offsets = append(s.offsets, in.Offset)
	if len(s.broken) > 0 {
		text := s.broken[0]
		s.broken = s.broken[1:]
		return rawAnswer(text), nil
	}
	s.queue = slices.DeleteFunc(s.queue, func(u update) bool { return u.id < in.Offset })
	deadline := time.NewTimer(time.Duration(in.Timeout) * time.Second)
	defer deadline.Stop()
	s.polls++
	s.newest++
	mine := s.newest
	s.change()
	defer func() { s.polls-- }()
	for {
		list := []json.RawMessage{}
		for _, u := range s.queue {
			if slices.Contains(in.Allowed, u.kind) && len(list) < in.Limit {
				list = append(list, u.text)
			}
		}
		changed := s.changed
		if len(list) > 0 {
			return list, nil
		}
		s.mu.Unlock()
		over := false
		select {
		case <-changed:
		case <-deadline.C:
			over = true
		case <-r.Context().Done():
			over = true
		}
		s.mu.Lock()
		switch {
		case mine != s.newest:
			return nil, &refusal{status: 409, about: "Conflict: terminated by other getUpdates request"}
		case over:
			return []int{}, nil
		}
	}
}

// sendMessage shows a message. The caller holds s.mu.
func (s *Server) sendMessage(in *ask) (any, *refusal) {
	m := Message{Chat: in.ChatID, Text: in.Text}
	for _, row := range in.Markup.Rows {
		m.Buttons = append(m.Buttons, row...)
	}
	if no := refuseText(&m); no != nil {
		return nil, no
	}
	if in.Reply != nil {
		m.ReplyTo = in.Reply.ID
	}
	s.message++
	m.ID = s.message
	s.shown = append(s.shown, m)
	s.change()
	return map[string]any{"message_id": m.ID, "date": time.Now().Unix(), "text": m.Text,
		"chat": map[string]any{"id": m.Chat, "type": "private"}}, nil
}

// refuseText checks a message.
func refuseText(m *Message) *refusal {
	switch n := len(utf16.Encode([]rune(m.Text))); {
	case m.Chat == 0:
		return &refusal{status: 400, about: "Bad Request: chat not found"}
	case n == 0:
		return &refusal{status: 400, about: "Bad Request: message text is empty"}
	case n > 4096:
		return &refusal{status: 400, about: "Bad Request: message is too long"}
	}
	for _, b := range m.Buttons {
		if b.Text == "" || b.Data == "" || len(b.Data) > 64 {
			return &refusal{status: 400, about: "Bad Request: BUTTON_DATA_INVALID"}
		}
	}
	return nil
}

// edit replaces a message's text. The caller holds s.mu.
func (s *Server) edit(in *ask) (any, *refusal) {
	for i := range s.shown {
		m := &s.shown[i]
		if m.ID != in.Message || m.Chat != in.ChatID {
			continue
		}
		if m.Text == in.Text && len(m.Buttons) == 0 {
			return nil, &refusal{status: 400, about: "Bad Request: message is not modified"}
		}
		m.Text, m.Buttons, m.Edited = in.Text, nil, m.Edited+1
		s.change()
		return map[string]any{"message_id": m.ID}, nil
	}
	return nil, &refusal{status: 400, about: "Bad Request: message to edit not found"}
}

// Messages returns the bot's messages in a chat.
func (s *Server) Messages(chat int64) (list []Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.shown {
		if m.Chat == chat {
			list = append(list, m)
		}
	}
	return list
}

// Wait waits until ok returns true, and fails the test if that takes too long. It calls ok at every change.
func (s *Server) Wait(t testing.TB, what string, ok func() bool) {
	t.Helper()
	late := time.After(30 * time.Second)
	for {
		s.mu.Lock()
		changed := s.changed
		s.mu.Unlock()
		if ok() {
			return
		}
		select {
		case <-changed:
		case <-time.After(50 * time.Millisecond): // the condition might not depend on the server
		case <-late:
			t.Fatalf("%s: not within 30 s; shown: %+v", what, s.shown)
		}
	}
}

// Shows waits for a message that contains a text, and returns the last one.
func (s *Server) Shows(t testing.TB, chat int64, text string) (found Message) {
	t.Helper()
	s.Wait(t, fmt.Sprintf("a message with %q", text), func() bool {
		for _, m := range slices.Backward(s.Messages(chat)) {
			if found = m; strings.Contains(m.Text, text) {
				return true
			}
		}
		return false
	})
	return found
}

// Dealt waits until every update is confirmed.
func (s *Server) Dealt(t testing.TB) {
	t.Helper()
	s.Wait(t, "that updates are confirmed", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.queue) == 0 && s.polls > 0
	})
}

// Called returns how often a method was called.
func (s *Server) Called(method string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.called[method]
}

// Flood makes a method answer 429 the next times.
func (s *Server) Flood(method string, times int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flood[method] = times
}

// Break makes the next getUpdates calls return these texts, one each, instead of updates.
func (s *Server) Break(texts ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = append(s.broken, texts...)
}

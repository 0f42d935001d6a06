package telegramtest

import (
	"encoding/json"
	"fmt"
)

// Add queues an update with the next number; kind is its member.
func (s *Server) Add(kind string, value any) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.update++
	text, err := json.Marshal(map[string]any{"update_id": s.update, kind: value})
	if err != nil {
		panic(err)
	}
	s.queue = append(s.queue, update{s.update, kind, text})
	s.change()
	return s.update
}

// Jump sets the number of the next update.
func (s *Server) Jump(number int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.update = number - 1
}

// Again queues an update again, as after a kill before it was confirmed.
func (s *Server) Again(number int64, kind, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue = append(s.queue, update{number, kind, []byte(text)})
	s.change()
}

// Queued returns the unconfirmed updates.
func (s *Server) Queued() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []string
	for _, u := range s.queue {
		list = append(list, string(u.text))
	}
	return list
}

// Person is a user with an account.
type Person struct {
	ID     int64
	Server *Server
}

func (p Person) user() map[string]any {
	return map[string]any{"id": p.ID, "is_bot": false, "first_name": fmt.Sprintf("P%d", p.ID)}
}

func (p Person) private() map[string]any {
	return map[string]any{"id": p.ID, "type": "private", "first_name": fmt.Sprintf("P%d", p.ID)}
}

// Write sends a text to the bot; for a reply, replyTo is the message's id.
func (p Person) Write(text string, replyTo int64) { p.WriteIn(p.private(), text, replyTo) }

// WriteIn sends a text in any chat.
func (p Person) WriteIn(chat map[string]any, text string, replyTo int64) {
	p.Server.Add("message", p.message(chat, text, replyTo))
}

// message returns a new message from the person.
func (p Person) message(chat map[string]any, text string, replyTo int64) map[string]any {
	p.Server.mu.Lock()
	p.Server.message++
	m := map[string]any{"message_id": p.Server.message, "date": 1, "from": p.user(), "chat": chat, "text": text}
	p.Server.mu.Unlock()
	if replyTo != 0 {
		m["reply_to_message"] = map[string]any{"message_id": replyTo, "date": 1, "chat": chat}
	}
	return m
}

// Press presses a button, which need not exist, below a message of any chat. It returns the id of the press.
func (p Person) Press(chat, message int64, data string) string {
	s := p.Server
	s.mu.Lock()
	s.pressing++
	id := fmt.Sprintf("press%d", s.pressing)
	s.presses[id] = ""
	s.mu.Unlock()
	where := Person{ID: chat}.private()
	s.Add("callback_query", map[string]any{"id": id, "from": p.user(), "chat_instance": "1", "data": data,
		"message": map[string]any{"message_id": message, "date": 1, "chat": where, "from": p.user()}})
	return id
}

// Pressed returns the text that the person was shown for a press.
func (s *Server) Pressed(id string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.presses[id]
}

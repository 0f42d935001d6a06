package notify

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"pennypost/internal/base/child"
	"pennypost/internal/base/jsonx"
	"pennypost/internal/base/webhook"
	"pennypost/internal/config"
)

// Telegram is a bot of Telegram's Bot API (https://core.telegram.org/bots/api, version 10.1). It uses long polling,
// so this machine accepts no connections. Texts have no parse mode: no character in them is markup.
type Telegram struct {
	Server string                 // without a trailing slash
	Token  func() (string, error) // the bot's

	client http.Client // limits redirects; set by NewTelegram
}

var _ Chat = (*Telegram)(nil)

const (
	telegramTime     = 30 * time.Second // for one request
	telegramPoll     = 50 * time.Second // maximum wait of getUpdates
	telegramBatch    = 20               // updates per request: each up to 4096 characters, twice for a reply
	maxTelegram      = 4 << 20          // bytes of an answer
	maxTelegramText  = 4096             // UTF-16 code units of a message
	telegramForgets  = 6 * 24 * time.Hour
	telegramPrivate  = "private" // a chat of two
	telegramUnknown  = "token not valid; copy it from @BotFather to [notify.telegram]"
	telegramTaken    = "another program reads this bot's messages; give each post office its own bot"
	telegramNoAnswer = "the answer is not in the Bot API's format"
)

// NewTelegram completes t.
func NewTelegram(t *Telegram) *Telegram {
	t.client = http.Client{
		Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, TLSHandshakeTimeout: telegramTime},
		CheckRedirect: webhook.SameHost,
	}
	return t
}

// The parts of the Bot API in use.
type (
	telegramAnswer struct {
		OK          bool        `json:"ok"`
		Result      jsonx.Value `json:"result"`
		Description string      `json:"description"`
		Parameters  struct {
			RetryAfter int64 `json:"retry_after"` // seconds
		} `json:"parameters"`
	}
	telegramUser struct {
		ID        int64  `json:"id"`
		FirstName string `json:"first_name"`
		LastName  string `json:"last_name"`
		Username  string `json:"username"`
	}
	telegramMessage struct {
		ID   int64        `json:"message_id"`
		From telegramUser `json:"from"`
		Chat struct {
			ID   int64  `json:"id"`
			Type string `json:"type"`
		} `json:"chat"`
		Text    string `json:"text"`
		ReplyTo *struct {
			ID int64 `json:"message_id"`
		} `json:"reply_to_message"`
	}
	telegramUpdate struct {
		Message  *telegramMessage `json:"message"`
		Callback *struct {
			ID      string           `json:"id"`
			From    telegramUser     `json:"from"`
			Message *telegramMessage `json:"message"`
			Data    string           `json:"data"`
		} `json:"callback_query"`
	}
	telegramButton struct {
		Text string `json:"text"`
		Data string `json:"callback_data"` // 64 bytes at most
	}
)

// Bot implements Chat with getMe.
func (t *Telegram) Bot(ctx context.Context) (ChatBot, error) {
	var me telegramUser
	if err := t.call(ctx, telegramTime, "getMe", struct{}{}, &me); err != nil {
		return ChatBot{}, err
	}
	bot := ChatBot{ID: strconv.FormatInt(me.ID, 10), Name: child.Plain(cmp.Or(me.Username, me.FirstName))}
	if me.Username != "" {
		bot.Name, bot.Link = "@"+bot.Name, "https://t.me/"+bot.Name+"?start="
	}
	return bot, nil
}

// Next implements Chat with getUpdates. A position is the number of an update and its time: after a week of silence
// Telegram restarts its numbers.
func (t *Telegram) Next(ctx context.Context, after string) ([]ChatEvent, error) {
	last, now := lastUpdate(after), time.Now()
	ask := map[string]any{"timeout": int(telegramPoll.Seconds()), "limit": telegramBatch,
		"allowed_updates": []string{"message", "callback_query"}}
	if last > 0 {
		ask["offset"] = last + 1 // confirms the earlier ones, which are not sent again
	}
	var updates []jsonx.Value
	if err := t.call(ctx, telegramPoll+telegramTime, "getUpdates", ask, &updates); err != nil {
		return nil, err
	}
	var events []ChatEvent
	numbers := make(map[string]int64)
	for _, raw := range updates {
		var number struct {
			ID int64 `json:"update_id"`
		}
		if err := jsonx.UnmarshalLenient(raw, &number); err != nil || number.ID <= last {
			continue // one without a number cannot be confirmed; a confirmed one was processed
		}
		place := fmt.Sprintf("%d.%d", number.ID, now.Unix())
		if _, twice := numbers[place]; !twice {
			numbers[place] = number.ID
			events = append(events, telegramEvent(place, raw))
		}
	}
	if len(updates) > 0 && len(events) == 0 { // an immediate retry would return the same
		return nil, errors.New("it repeats updates")
	}
	slices.SortFunc(events, func(a, b ChatEvent) int { return cmp.Compare(numbers[a.Place], numbers[b.Place]) })
	return events, nil
}

// lastUpdate returns the update number in a position, or 0 if it has expired.
func lastUpdate(place string) int64 {
	number, at, _ := strings.Cut(place, ".")
	last, err1 := strconv.ParseInt(number, 10, 64)
	came, err2 := strconv.ParseInt(at, 10, 64)
	if err1 != nil || err2 != nil || time.Since(time.Unix(came, 0)) > telegramForgets {
		return 0
	}
	return last
}

// telegramEvent parses an update. One in another form, or from outside a chat, becomes an event without a user.
func telegramEvent(place string, raw []byte) ChatEvent {
	e := ChatEvent{Place: place}
	var u telegramUpdate
	if jsonx.UnmarshalLenient(raw, &u) != nil {
		return e
	}
	m, from := u.Message, telegramUser{}
	switch {
	case u.Callback != nil:
		m, from = u.Callback.Message, u.Callback.From
		e.Press, e.Token = u.Callback.ID, u.Callback.Data
	case m != nil:
		from, e.Text = m.From, m.Text
	}
	if m == nil || from.ID == 0 || u.Callback != nil && e.Press == "" {
		return ChatEvent{Place: place}
	}
	e.Chat, e.User, e.Message = strconv.FormatInt(m.Chat.ID, 10), strconv.FormatInt(from.ID, 10),
		strconv.FormatInt(m.ID, 10)
	e.Direct = m.Chat.Type == telegramPrivate && m.Chat.ID == from.ID
	if e.Name = strings.TrimSpace(from.FirstName + " " + from.LastName); from.Username != "" {
		e.Name += " @" + from.Username
	}
	e.Name = child.Plain(e.Name)
	if u.Callback == nil && m.ReplyTo != nil {
		e.ReplyTo = strconv.FormatInt(m.ReplyTo.ID, 10)
	}
	return e
}

// Post implements Chat with sendMessage. Links have no preview, because Telegram would fetch them.
func (t *Telegram) Post(ctx context.Context, chat string, p *ChatPost) (string, error) {
	ask := telegramText(p.Text)
	if err := target(ask, "chat_id", chat); err != nil {
		return "", err
	}
	if p.ReplyTo != "" {
		below := map[string]any{"allow_sending_without_reply": true}
		if err := target(below, "message_id", p.ReplyTo); err != nil {
			return "", err
		}
		ask["reply_parameters"] = below
	}
	var rows [][]telegramButton
	for _, b := range p.Buttons {
		rows = append(rows, []telegramButton{{b.Label, b.Token}})
	}
	if len(rows) > 0 {
		ask["reply_markup"] = map[string]any{"inline_keyboard": rows}
	}
	var sent telegramMessage
	if err := t.call(ctx, telegramTime, "sendMessage", ask, &sent); err != nil {
		return "", err
	}
	return strconv.FormatInt(sent.ID, 10), nil
}

// Edit implements Chat with editMessageText, which removes buttons that are not repeated.
func (t *Telegram) Edit(ctx context.Context, chat, message, text string) error {
	ask := telegramText(text)
	err := cmp.Or(target(ask, "chat_id", chat), target(ask, "message_id", message))
	if err != nil {
		return err
	}
	return t.call(ctx, telegramTime, "editMessageText", ask, nil)
}

// Pressed implements Chat with answerCallbackQuery.
func (t *Telegram) Pressed(ctx context.Context, press, word string) error {
	return t.call(ctx, telegramTime, "answerCallbackQuery", map[string]any{"callback_query_id": press, "text": word},
		nil)
}

// telegramText returns the parameters for a text.
func telegramText(text string) map[string]any {
	return map[string]any{"text": cutUTF16(text, maxTelegramText),
		"link_preview_options": map[string]any{"is_disabled": true}}
}

// target adds an id to the parameters.
func target(ask map[string]any, name, id string) error {
	number, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		return &ChatError{Msg: "the stored chat is not Telegram's", Final: true}
	}
	ask[name] = number
	return nil
}

// call sends a request. Errors do not contain the address, which has the token.
func (t *Telegram) call(ctx context.Context, limit time.Duration, method string, in, out any) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	token, err := t.Token()
	if err != nil {
		return err
	}
	if !config.IsTelegramToken(token) { // it becomes part of the address
		return errors.New("the token file does not contain a bot token")
	}
	body, err := jsonx.Marshal(in)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.Server+"/bot"+token+"/"+method,
		bytes.NewReader(body))
	if err != nil {
		return errors.New("the address of the server is not valid")
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "pennypost")
	resp, err := t.client.Do(req)
	if err != nil {
		return webhook.Reason(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxTelegram+1))
	if err != nil {
		return webhook.Reason(err)
	}
	var answer telegramAnswer
	bad := jsonx.UnmarshalLenient(text, &answer)
	switch {
	case resp.StatusCode != http.StatusOK || bad == nil && !answer.OK:
		return telegramRefusal(resp.StatusCode, &answer)
	case bad != nil || len(text) > maxTelegram:
		return errors.New(telegramNoAnswer)
	case out == nil:
		return nil
	}
	if err := jsonx.UnmarshalLenient(answer.Result, out); err != nil {
		return errors.New(telegramNoAnswer)
	}
	return nil
}

// telegramRefusal returns the error for a refused request.
func telegramRefusal(status int, answer *telegramAnswer) error {
	e := &ChatError{Msg: fmt.Sprintf("answered %d %s", status, http.StatusText(status)),
		After: time.Duration(min(max(answer.Parameters.RetryAfter, 0), int64(maxBotRetry.Seconds()))) * time.Second}
	switch status {
	case http.StatusUnauthorized, http.StatusNotFound:
		e.Msg += ": " + telegramUnknown
	case http.StatusConflict:
		e.Msg += ": " + telegramTaken
		fallthrough
	default:
		if answer.Description != "" {
			e.Msg += ": " + child.Plain(answer.Description)
		}
		e.Final = status == http.StatusBadRequest || status == http.StatusForbidden
	}
	return e
}

// cutUTF16 cuts a text at a character boundary.
func cutUTF16(s string, most int) string {
	units := utf16.Encode([]rune(s))
	if len(units) <= most {
		return s
	}
	units = units[:most-1]
	if last := rune(units[len(units)-1]); last >= 0xd800 && last < 0xdc00 { // half of a character
		units = units[:len(units)-1]
	}
	return string(utf16.Decode(units)) + "…"
}

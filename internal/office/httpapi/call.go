package httpapi

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
	"pennypost/internal/wire"
)

// call is one request on its way through a route.
type call struct {
	api      *api
	route    *route
	w        *recorder
	r        *http.Request
	caller   mail.Caller
	roomName mail.RoomName
	room     mail.Service   // nil on a route outside rooms
	query    map[string]any // the given parameters, parsed
	status   int            // of the answer; 0: the route's
}

// run identifies the caller, the room and the argument, and calls the route.
func (c *call) run() (any, error) {
	var err error
	if c.caller, err = c.api.opts.Authenticate(c.r); err != nil && !c.route.Open {
		return nil, err
	}
	if err := c.needRight(); err != nil {
		return nil, err
	}
	if c.route.Here && c.caller.Pass != nil {
		return nil, mail.Errorf(mail.Denied, "this can be done only on the machine of the post office, not from "+
			"%s", c.caller.Pass.Machine)
	}
	if c.r.Method == http.MethodHead && c.route.stream != "" {
		return nil, &statusError{http.StatusMethodNotAllowed,
			mail.Errorf(mail.Invalid, "HEAD is not supported on a stream; use GET")}
	}
	if err := c.enter(); err != nil {
		return nil, err
	}
	if c.query, err = parseQuery(c.r.URL.RawQuery, c.route.query); err != nil {
		return nil, err
	}
	if c.route.UserOnly {
		if err := c.needUser(); err != nil {
			return nil, err
		}
	}
	if err := c.needConfirmed(); err != nil {
		return nil, err
	}
	return c.route.handle(c)
}

// enter opens the room that the path names.
func (c *call) enter() error {
	if !strings.HasPrefix(c.route.Path, "/rooms/{room}") {
		return nil
	}
	name, err := mail.ParseRoom(c.r.PathValue("room"))
	if err != nil {
		return err
	}
	if c.caller.Room != "" && c.caller.Room != name {
		return mail.Errorf(mail.Denied, "your credential opens room %s only, not %s", c.caller.Room, name)
	}
	c.roomName = name
	if c.route.Open {
		return nil // a stranger must not make a room
	}
	c.room, err = c.api.opts.Office.Room(c.r.Context(), name, c.caller.Name)
	return err
}

// needUser refuses everyone but the person, before a large body is read or the whole office is touched. The room
// checks its own calls as well.
func (c *call) needUser() error {
	switch {
	case c.caller.Name != mail.User:
		return mail.Errorf(mail.Denied, "only the user may do this; you are %s", c.caller.Name)
	case c.room == nil && c.caller.Room != "":
		return mail.Errorf(mail.Denied, "your credential opens room %s only, not the whole post office", c.caller.Room)
	}
	return nil
}

// path returns a percent-decoded segment of the path.
func (c *call) path(name string) (string, error) {
	s := c.r.PathValue(name)
	if !utf8.ValidString(s) {
		return "", mail.Errorf(mail.Invalid, "the %s in the path is not percent-encoded UTF-8", name)
	}
	return s, nil
}

// input reads the argument of a call. A string is the last variable of the path.
func input[In any](c *call) (in In, err error) {
	switch v := any(&in).(type) {
	case *wire.None:
	case *mail.ID:
		err = variable(c, v, mail.ParseID)
	case *mail.Machine:
		err = variable(c, v, mail.ParseMachine)
	case *mail.Name:
		*v, err = c.name()
	case *string:
		*v, err = c.path(c.route.variable)
	default:
		if c.route.in != nil {
			return body[In](c)
		}
		fill(c.query, reflect.ValueOf(v).Elem())
	}
	return in, err
}

// variable reads the last variable of the path.
func variable[T any](c *call, v *T, parse func(string) (T, error)) error {
	s, err := c.path(c.route.variable)
	if err == nil {
		*v, err = parse(s)
	}
	return err
}

// name returns the agent's name in the path. Its form is the room's business, which normalises it first.
func (c *call) name() (mail.Name, error) {
	s, err := c.path("name")
	return mail.Name(s), err
}

// write sends the answer of a route that did not stream.
func (c *call) write(answer any) error {
	status := c.status
	if status == 0 {
		status = c.route.Success
	}
	if answer == nil {
		c.w.WriteHeader(status)
		return nil
	}
	body, err := jsonx.Marshal(answer)
	if err != nil {
		return err
	}
	body = append(body, '\n')
	c.w.Header().Set("Content-Type", wire.JSON)
	c.w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	c.w.WriteHeader(status)
	return write(c.w, c.api.opts.WriteTimeout, body)
}

// body decodes the request's body, which must be one JSON value of T without unknown or duplicate members.
func body[T any](c *call) (T, error) {
	var v T
	if err := c.contentType(wire.JSON); err != nil {
		return v, err
	}
	r, err := c.reader(c.api.opts.MaxRequest)
	if err != nil {
		return v, err
	}
	var b bytes.Buffer
	b.Grow(int(min(max(c.r.ContentLength, 0), chunk)) + bytes.MinRead)
	if _, err := b.ReadFrom(r); err != nil {
		return v, c.unread(err, c.api.opts.MaxRequest)
	}
	if err := jsonx.UnmarshalStrict(b.Bytes(), &v); err != nil {
		return v, mail.Errorf(mail.Invalid, "the body is not the expected JSON: %s", jsonx.Explain(err))
	}
	return v, nil
}

// contentType refuses a body that does not declare the type want. A browser cannot declare it across origins without
// asking first, which makes this a second wall against forged requests.
func (c *call) contentType(want string) error {
	got := c.r.Header.Get("Content-Type")
	if got == want {
		return nil
	}
	kind, params, err := mime.ParseMediaType(got)
	if err == nil && kind == want && (params["charset"] == "" || strings.EqualFold(params["charset"], "utf-8")) {
		return nil
	}
	return &statusError{http.StatusUnsupportedMediaType,
		mail.Errorf(mail.Invalid, "the body needs the header Content-Type: %s, not %q", want, got)}
}

// reader returns the body, which fails beyond limit bytes. A body whose declared length is larger is not read at
// all; net/http reads no more than the declared length.
func (c *call) reader(limit int64) (io.Reader, error) {
	switch {
	case c.r.ContentLength > limit:
		return nil, tooLarge(limit)
	case c.r.ContentLength >= 0:
		return c.r.Body, nil
	}
	return http.MaxBytesReader(c.w, c.r.Body, limit), nil
}

func tooLarge(limit int64) error {
	return mail.Errorf(mail.TooLarge, "the request body is larger than the %d bytes allowed here. Nothing was stored",
		limit)
}

// unread says why a body could not be read.
func (c *call) unread(err error, limit int64) error {
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return tooLarge(limit)
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return &statusError{http.StatusRequestTimeout,
			&mail.Error{Code: mail.Timeout, Msg: "the request body took too long to arrive. Nothing was stored",
				Err: err}}
	}
	return &mail.Error{Code: mail.Invalid, Msg: "the request body ended early. Nothing was stored", Err: err}
}

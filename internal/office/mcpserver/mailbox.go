package mcpserver

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"pennypost/internal/base/pause"
	"pennypost/internal/fence"
	"pennypost/internal/mail"
)

// mailboxScheme begins the URI of a mailbox: mailbox://<room>/<agent>, both percent-encoded.
const mailboxScheme = "mailbox://"

func mailboxURI(room mail.RoomName, agent mail.Name) string {
	return mailboxScheme + url.PathEscape(string(room)) + "/" + url.PathEscape(string(agent))
}

// agentOf returns the agent whose mailbox a URI names, if the URI is of this room.
func (b Mailbox) agentOf(uri string) (mail.Name, error) {
	rest, ok := strings.CutPrefix(uri, mailboxScheme)
	room, name, cut := strings.Cut(rest, "/")
	room, err1 := url.PathUnescape(room)
	name, err2 := url.PathUnescape(name)
	if !ok || !cut || name == "" || err1 != nil || err2 != nil || mail.RoomName(room) != b.Room {
		return "", mcp.ResourceNotFoundError(uri)
	}
	return mail.Name(name), nil
}

func (n *Native) addResources() {
	own := &mcp.Resource{
		URI: mailboxURI(n.box.Room, n.box.Agent), Name: "mailbox", Title: "Your mailbox",
		Description: "Your unread mail. Subscribe to hear of changes.", MIMEType: "application/json",
	}
	room := "{room}" // the caller's
	if n.box.Service != nil {
		n.Server.AddResource(own, n.readMailbox)
		room = url.PathEscape(string(n.box.Room))
	}
	n.Server.AddResourceTemplate(&mcp.ResourceTemplate{
		URITemplate: mailboxScheme + room + "/{agent}", Name: "mailboxes",
		Title:       "A mailbox of this room",
		Description: "The unread mail of any agent of the room, or of the user.", MIMEType: "application/json",
	}, n.readMailbox)
}

func (n *Native) readMailbox(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	uri := req.Params.URI
	box, err := n.box.of(ctx, req.Params.Meta)
	if err != nil {
		return nil, err
	}
	agent, err := box.agentOf(uri)
	if err != nil {
		return nil, err
	}
	page, err := box.Service.Inbox(ctx, mail.InboxQuery{Agent: agent, Bytes: fence.Budget})
	if mail.CodeOf(err) == mail.NotFound {
		return nil, mcp.ResourceNotFoundError(uri)
	}
	if err != nil {
		return nil, err
	}
	all := page.Messages
	out, _, err := fence.FitLetters(fence.Letters{Items: all, Reader: box.Agent}, func(s fence.Shown) mail.Page {
		page := page
		if page.Messages = s.Items; 0 < len(s.Items) && len(s.Items) < len(all) {
			page.More, page.Next = true, s.Items[len(s.Items)-1].Seq
		}
		return page
	})
	if err != nil {
		return nil, err
	}
	text, err := fence.JSON(out)
	if err != nil {
		return nil, err
	}
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{
		{URI: uri, MIMEType: "application/json", Text: text},
	}}, nil
}

// A subscription is one follower, shared by all sessions of a server that subscribed to a mailbox.
type subscription struct {
	sessions map[*mcp.ServerSession]bool
	stop     context.CancelFunc
}

// subscribe watches a mailbox until the session ends or unsubscribes. The SDK calls it for resources/subscribe and
// for subscriptions/listen alike, and records the subscription only after it returns: changes in between are not
// announced, but the client finds them when it reads after subscribing.
func (n *Native) subscribe(ctx context.Context, req *mcp.SubscribeRequest) error {
	uri := req.Params.URI
	agent, err := n.box.agentOf(uri)
	if err != nil {
		return err
	}
	status, err := n.box.Service.Status(ctx)
	if err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	s := n.subs[uri]
	if s == nil {
		following, stop := context.WithCancel(n.ctx)
		s = &subscription{sessions: make(map[*mcp.ServerSession]bool), stop: stop}
		n.subs[uri] = s
		n.work.Go(func() { n.follow(following, agent, uri, status.Seq) })
	}
	if !s.sessions[req.Session] {
		s.sessions[req.Session] = true
		go func() { // ends with the session, which has another owner
			_ = req.Session.Wait()
			n.forget(uri, req.Session)
		}()
	}
	return nil
}

func (n *Native) unsubscribe(_ context.Context, req *mcp.UnsubscribeRequest) error {
	n.forget(req.Params.URI, req.Session)
	return nil
}

func (n *Native) forget(uri string, session *mcp.ServerSession) {
	n.mu.Lock()
	defer n.mu.Unlock()
	s := n.subs[uri]
	if s == nil || !s.sessions[session] {
		return
	}
	delete(s.sessions, session)
	if len(s.sessions) == 0 {
		s.stop()
		delete(n.subs, uri)
	}
}

// followPause is how long a follower waits before it retries a post office that could not answer.
const followPause = 5 * time.Second

// follow announces changes of a mailbox until ctx ends or the room is gone.
func (n *Native) follow(ctx context.Context, agent mail.Name, uri string, after mail.Seq) {
	for {
		var err error
		if after, err = n.followOnce(ctx, agent, uri, after); ctx.Err() == nil {
			n.box.Log.Warn("mailbox not watched", "agent", agent, "err", err)
		}
		if mail.CodeOf(err) != mail.Unavailable || !pause.For(ctx, followPause) {
			return
		}
	}
}

// followOnce follows while one watch lasts, and returns the last sequence number it saw. A batch of events is one
// announcement, whatever its size.
func (n *Native) followOnce(ctx context.Context, agent mail.Name, uri string, after mail.Seq) (mail.Seq, error) {
	w, err := n.box.Service.Watch(ctx, after)
	if err != nil {
		return after, err
	}
	defer w.Close()
	for {
		events, err := w.Next(ctx)
		if err != nil {
			return after, err
		}
		after = events[len(events)-1].Seq
		if !n.concerns(ctx, agent, events) {
			continue
		}
		if err := n.Server.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: uri}); err != nil {
			n.box.Log.Debug("resource update not sent", "uri", uri, "err", err)
		}
	}
}

// concerns reports whether events may have changed the unread mail of a mailbox: a receipt of its owner did, a
// message did if it is in the mailbox, and a roster change may have moved role mail.
func (n *Native) concerns(ctx context.Context, agent mail.Name, events []mail.Event) bool {
	first := mail.Seq(0)
	for _, e := range events {
		switch {
		case e.Agent != nil && (e.Agent.Roles != nil || e.Agent.Tags != nil || e.Agent.State != "" || e.Agent.End ||
			e.Agent.Retired), e.Erased != nil:
			return true
		case e.Receipt != nil && e.Receipt.Reader == mail.AgentAddress(agent) &&
			!slices.Contains(mail.DeliveryMarks(), e.Receipt.Mark):
			return true
		case e.Message != nil && first == 0:
			first = e.Seq
		}
	}
	if first == 0 {
		return false
	}
	page, err := n.box.Service.Inbox(ctx, mail.InboxQuery{Agent: agent, After: first - 1, Limit: 1})
	return err == nil && len(page.Messages) > 0
}

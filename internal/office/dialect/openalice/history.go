package openalice

import (
	"context"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"pennypost/internal/base/jsonx"
	"pennypost/internal/mail"
)

// Bounds of a page. The original knows the first.
const (
	defaultLimit = 100
	maxLimit     = 1000
)

// query asks for a page of entries.
type query struct {
	limit     int
	before    mail.ID
	beforeTS  mail.Time
	workspace string
}

// queryOf reads the parameters as the original does, to which a number that is none is no number.
func queryOf(v url.Values) query {
	q := query{limit: defaultLimit, before: mail.ID(v.Get("before")), workspace: v.Get("workspaceId")}
	if n := number(v.Get("limit")); n >= 1 {
		q.limit = int(min(n, maxLimit))
	}
	if n := number(v.Get("beforeTs")); n >= 1 {
		q.beforeTS = mail.Time(min(n, latest))
	}
	return q
}

func number(s string) float64 {
	n, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil && !math.IsInf(n, 0) || math.IsNaN(n) {
		return 0
	}
	return n
}

// historyPage answers GET /api/inbox/history.
type historyPage struct {
	Entries []jsonx.Value `json:"entries"`
	HasMore bool          `json:"hasMore"`
}

// history returns entries, newest first, with the time at which the user read them.
func history(ctx context.Context, svc mail.Service, q query) (historyPage, error) {
	page := historyPage{Entries: []jsonx.Value{}}
	found, err := find(ctx, svc, q)
	if err != nil {
		return page, err
	}
	if page.HasMore = len(found) > q.limit; page.HasMore {
		found = found[:q.limit]
	}
	for i := range found {
		text, err := encodeRead(ctx, svc, &found[i])
		if err != nil {
			return page, err
		}
		page.Entries = append(page.Entries, text)
	}
	return page, nil
}

// found is an entry of the room.
type found struct {
	mail.Item
	label string
}

// encodeRead writes an entry with its readAt.
func encodeRead(ctx context.Context, svc mail.Service, it *found) (jsonx.Value, error) {
	if it.Read && it.Deliveries == nil { // lists do not say when
		whole, err := svc.Message(ctx, it.ID)
		if err != nil && mail.CodeOf(err) != mail.NotFound {
			return nil, err
		}
		it.Deliveries = whole.Deliveries
	}
	var more []jsonx.Member
	if at, read := readAt(&it.Item); read {
		more = append(more, jsonx.Member{Name: "readAt", Value: strconv.AppendInt(nil, int64(at), 10)})
	}
	e := entryOf(&it.Message, it.label)
	return e.encode(more...)
}

// find returns at least limit+1 entries, newest first, if there are so many. The archive is searched only if the rest
// does not suffice: entries stay in an inbox until somebody deletes them, and most looks are at the newest.
func find(ctx context.Context, svc mail.Service, q query) ([]found, error) {
	labels, err := labels(ctx, svc)
	if err != nil {
		return nil, err
	}
	h := mail.HistoryQuery{To: string(mail.ToUser), Agent: mail.User, Until: q.beforeTS,
		Limit: min(q.limit+1, mail.MaxLimit)}
	if q.workspace != "" {
		h.From = "agent:" + q.workspace
	}
	if q.before != "" {
		it, err := oneEntry(ctx, svc, string(q.before))
		if mail.CodeOf(err) == mail.NotFound || err == nil && q.workspace != "" &&
			string(it.From.Signer()) != q.workspace {
			return nil, nil // as the original has it
		}
		if err != nil {
			return nil, err
		}
		h.Before = it.Seq
	}
	out, err := collect(ctx, svc, h, labels, q.limit+1)
	if err == nil && len(out) <= q.limit {
		h.Archive = true
		out, err = collect(ctx, svc, h, labels, q.limit+1)
	}
	if mail.CodeOf(err) == mail.NotFound {
		return nil, nil // nobody bears the workspace's name, or ever did
	}
	return out, err
}

// collect pages backwards through the mail of the user until it has n entries.
func collect(ctx context.Context, svc mail.Service, h mail.HistoryQuery, labels map[mail.Name]string, n int) ([]found,
	error) {
	var out []found
	for {
		page, err := svc.History(ctx, h)
		if err != nil {
			return nil, err
		}
		for _, it := range slices.Backward(page.Messages) {
			if label, ok := labelOf(&it.Message, labels); ok {
				out = append(out, found{it, label})
			}
		}
		if !page.More || len(out) >= n {
			return out, nil
		}
		h.Before = page.Next
	}
}

// oneEntry returns the entry of an id. Other mail is not found here.
func oneEntry(ctx context.Context, svc mail.Service, id string) (mail.Item, error) {
	it, err := svc.Message(ctx, mail.ID(id))
	if err != nil {
		return it, err
	}
	labels, err := labels(ctx, svc)
	if err != nil {
		return it, err
	}
	if _, ok := labelOf(&it.Message, labels); !ok {
		return it, mail.Errorf(mail.NotFound, "there is no entry %q in the inbox", id)
	}
	return it, nil
}

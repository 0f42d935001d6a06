package mail

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
)

// Conversation is a row of the user's desk: a thread in which mail came to the user.
type Conversation struct {
	Room RoomName `json:"room"`
	// Item is what the row shows: the open question that waits longest, or else the urgent message that waits longest
	// to be read, or else what came last, but for acknowledgements. Its body is left out.
	Item
	// Preview is how its text begins, in one line and without marks of Markdown; of none, its documents.
	Preview string `json:"preview,omitempty"`
	Asks    int    `json:"asks,omitzero"`   // how many open questions to the user the conversation has
	Urgent  bool   `json:"urgent,omitzero"` // it needs the user, and one of the reasons is urgent
	// IDs are its messages that the user has in this part of the mailbox, in order of arrival: who archives the
	// conversation archives these. Of a row that stands for several conversations, and of more than MaxLimit, there
	// are none.
	IDs      []ID `json:"ids,omitempty"`
	Messages int  `json:"messages"`        // how many these are
	Unread   int  `json:"unread,omitzero"` // of these; mere acknowledgements are not counted
	// Folded is, in the row that stands for what agents report, how many conversations of nothing but status messages
	// it stands for; 0 in other rows.
	Folded int `json:"folded,omitzero"`
}

// DeskPart is a part of the user's desk.
type DeskPart string

// The parts. A conversation stands in one of them.
const (
	// NeedsYou has open questions to the user, and urgent mail that is not read: urgent ones first, then the oldest.
	// What is snoozed comes at its time.
	NeedsYou DeskPart = "needs"
	// Updates has what else is in the user's inbox, the newest first.
	Updates DeskPart = "updates"
)

// ParseDeskPart checks the name of a part; "" is both.
func ParseDeskPart(s string) (DeskPart, error) {
	switch p := DeskPart(s); p {
	case "", NeedsYou, Updates:
		return p, nil
	}
	return "", Errorf(Invalid, "%q is not a part of the desk; use needs or updates, or leave it out for both", s)
}

// DeskQuery says what of the user's desk to return.
type DeskQuery struct {
	Rooms []RoomName `query:"room" about:"only these rooms; default: all"`
	Part  DeskPart   `query:"part" about:"needs or updates; default: both"`
	// Place asks for what is snoozed or archived. All of it is among the updates then, and nothing is folded.
	Place  Place  `query:"place" about:"snoozed or archived instead of the inbox"`
	Unread bool   `query:"unread" about:"of the updates only conversations with unread mail"`
	From   string `query:"from" about:"an address or a bare name that wrote"`
	Status bool   `query:"status" about:"the status messages that are folded into one row otherwise, and nothing else"`
	After  string `query:"after" about:"behind this place of the updates: the next of the answer before"`
	Limit  int    `query:"limit" about:"at most so many conversations of each part; 0 means 50, the most is 1000"`
}

// Checked returns q with its limit, or what is wrong with it by itself.
func (q DeskQuery) Checked() (DeskQuery, error) {
	if q.Limit < 0 || q.Limit > MaxLimit {
		return q, Errorf(Invalid, "a limit of %d is out of range; use 1 to %d", q.Limit, MaxLimit)
	}
	q.Limit = cmp.Or(q.Limit, DefaultLimit)
	if _, err := ParsePlace(string(q.Place)); err != nil {
		return q, err
	}
	if _, err := ParseDeskPart(string(q.Part)); err != nil {
		return q, err
	}
	_, err := ParseDeskSpot(q.After)
	return q, err
}

// Desk is what waits for the user, in one room or in all.
type Desk struct {
	Needs   []Conversation `json:"needs"`
	Waiting int            `json:"waiting"` // how many need the user in all
	// Updates are, on the first page, Limit and the row of what is folded.
	Updates []Conversation `json:"updates"`
	Unread  int            `json:"unread"`         // messages of the updates that are not read, in all
	Next    string         `json:"next,omitempty"` // where the updates go on
	// Away are rooms that could not be looked at.
	Away []RoomName `json:"away,omitempty"`
	// Trouble says how old is what is known, while what keeps some of the rooms cannot be reached; "" if it is new.
	Trouble string `json:"trouble,omitempty"`
	// Degraded says, in sentences, what is not as it should be of the servers that keep rooms, and that they may still
	// have erased text; "" if there is nothing to say.
	Degraded string `json:"degraded,omitempty"`
}

// DeskSpot is a place among the updates of several rooms: the newest come first, those of one time by room.
type DeskSpot struct {
	Sent Time
	Room RoomName
	Seq  Seq
}

// String is the spot as it stands in Desk.Next.
func (s DeskSpot) String() string {
	return strconv.FormatInt(int64(s.Sent), 10) + "." + strconv.FormatUint(uint64(s.Seq), 10) + "@" + string(s.Room)
}

// ParseDeskSpot reads a place that a Desk named; "" is the zero one.
func ParseDeskSpot(text string) (s DeskSpot, err error) {
	if text == "" {
		return s, nil
	}
	at, room, _ := strings.Cut(text, "@")
	sent, seq, _ := strings.Cut(at, ".")
	t, errSent := strconv.ParseInt(sent, 10, 64)
	n, errSeq := strconv.ParseUint(seq, 10, 64)
	if errSent != nil || errSeq != nil {
		return s, Errorf(Invalid, "%q is not a place among the updates; use the next of an answer before", text)
	}
	return DeskSpot{Time(t), RoomName(room), Seq(n)}, nil
}

// Compare orders spots as the updates are.
func (s DeskSpot) Compare(o DeskSpot) int {
	return cmp.Or(cmp.Compare(o.Sent, s.Sent), cmp.Compare(s.Room, o.Room), cmp.Compare(o.Seq, s.Seq))
}

// Spot returns where c stands among the updates.
func (c *Conversation) Spot() DeskSpot { return DeskSpot{c.Sent, c.Room, c.Seq} }

// compareNeeds orders what needs the user.
func compareNeeds(a, b *Conversation) int {
	switch {
	case a.Urgent && !b.Urgent:
		return -1
	case b.Urgent && !a.Urgent:
		return 1
	}
	return cmp.Or(cmp.Compare(a.Sent, b.Sent), cmp.Compare(a.Room, b.Room), cmp.Compare(a.Seq, b.Seq))
}

// JoinDesks makes one desk of those of several rooms, each of which answered a query with a limit of most. What
// bridges brought into several rooms is shown once, as it stands in the first of them.
func JoinDesks(desks []Desk, most int) Desk {
	var out Desk
	var needs, updates, folded []*Conversation // of a thousand rooms, perhaps: they are large, and few are shown
	more := false
	for i := range desks {
		d := &desks[i]
		for k := range d.Needs {
			needs = append(needs, &d.Needs[k])
		}
		for k := range d.Updates {
			if c := &d.Updates[k]; c.Folded > 0 {
				folded = append(folded, c)
			} else {
				updates = append(updates, c)
			}
		}
		out.Waiting += d.Waiting
		out.Unread += d.Unread
		out.Away = append(out.Away, d.Away...)
		out.Trouble = cmp.Or(out.Trouble, d.Trouble)
		more = more || d.Next != ""
	}
	slices.SortFunc(needs, compareNeeds)
	slices.SortFunc(updates, compareUpdates)
	if len(updates) > most {
		updates, more = updates[:most], true
	}
	if n := len(updates); more && n > 0 {
		out.Next = updates[n-1].Spot().String()
	}
	seen := make(map[ID]RoomName)
	again := func(c *Conversation) bool {
		room, known := seen[c.ThreadRoot()]
		seen[c.ThreadRoot()] = cmp.Or(room, c.Room)
		return known && room != c.Room
	}
	there := len(needs)
	needs = slices.DeleteFunc(needs, again)
	out.Waiting -= there - len(needs)
	updates = slices.DeleteFunc(updates, func(c *Conversation) bool {
		if !again(c) {
			return false
		}
		out.Unread -= c.Unread
		return true
	})
	if len(folded) > 0 {
		updates = append(updates, fold(folded))
		slices.SortFunc(updates, compareUpdates)
	}
	out.Needs, out.Updates = rowsOf(needs[:min(most, len(needs))]), rowsOf(updates)
	return out
}

func rowsOf(list []*Conversation) []Conversation {
	out := make([]Conversation, len(list))
	for i, c := range list {
		out[i] = *c
	}
	return out
}

func compareUpdates(a, b *Conversation) int { return a.Spot().Compare(b.Spot()) }

// fold makes one row of those that stand for what agents report in several rooms.
func fold(rows []*Conversation) *Conversation {
	out := *slices.MinFunc(rows, compareUpdates)
	out.Folded, out.Messages, out.Unread = 0, 0, 0
	for _, c := range rows {
		out.Folded += c.Folded
		out.Messages += c.Messages
		out.Unread += c.Unread
	}
	if len(rows) > 1 {
		out.IDs = nil
	}
	return &out
}

// DeskChange says that something happened in a room, which may have changed what waits for the user.
type DeskChange struct {
	// Room is "" in the first change of a watch, and where it cannot be told what happened: look at everything then.
	Room   RoomName `json:"room,omitempty"`
	Seq    Seq      `json:"seq,omitzero"`
	Needs  int      `json:"needs"`  // conversations there that need the user
	Unread int      `json:"unread"` // messages that wait there in the user's mailbox
}

// DeskWatch tells what changes. It is used by one goroutine and closed by its owner.
type DeskWatch interface {
	// Next returns what has changed since the call before, a change for each room, waiting for it until ctx ends. What
	// happens close together is told at once. After Close it returns Unavailable.
	Next(ctx context.Context) ([]DeskChange, error)
	Close() error
}

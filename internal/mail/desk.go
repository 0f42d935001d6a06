package mail

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
)

// Conversation is a row of the user's desk: a thread with mail to the user.
type Conversation struct {
	Room RoomName `json:"room"`
	// Item is the message that the row shows: the open question that has waited longest, else the urgent unread
	// message that has waited longest, else the newest message that is not a mere acknowledgement. Its body is left
	// out.
	Item
	// Preview is the beginning of its text, on one line and without Markdown; without text, its documents.
	Preview string `json:"preview,omitempty"`
	Asks    int    `json:"asks,omitzero"`   // open questions to the user
	Urgent  bool   `json:"urgent,omitzero"` // it needs the user, and one reason is urgent
	// IDs are the conversation's messages in this part of the user's mailbox, in order of arrival: archiving the
	// conversation archives these. They are left out for a row that stands for several conversations, and if there
	// are more than MaxLimit.
	IDs      []ID `json:"ids,omitempty"`
	Messages int  `json:"messages"`        // number of these messages
	Unread   int  `json:"unread,omitzero"` // unread ones among these, without mere acknowledgements
	// Folded is, in the row that sums up agents' reports, the number of conversations consisting only of status
	// messages that it stands for; 0 in other rows.
	Folded int `json:"folded,omitzero"`
}

// DeskPart is a part of the user's desk.
type DeskPart string

// The parts. Each conversation is in one of them.
const (
	// NeedsYou has open questions to the user and urgent unread mail: urgent ones first, then the oldest. Snoozed
	// mail appears when it is due.
	NeedsYou DeskPart = "needs"
	// Updates has the rest of the user's inbox, newest first.
	Updates DeskPart = "updates"
)

// ParseDeskPart checks the name of a part; "" means both.
func ParseDeskPart(s string) (DeskPart, error) {
	switch p := DeskPart(s); p {
	case "", NeedsYou, Updates:
		return p, nil
	}
	return "", Errorf(Invalid, "%q is not a part of the desk; use needs or updates, or leave it out for both", s)
}

// DeskQuery selects a part of the user's desk.
type DeskQuery struct {
	Rooms []RoomName `query:"room" about:"only these rooms; default: all"`
	Part  DeskPart   `query:"part" about:"needs or updates; default: both"`
	// Place selects snoozed or archived mail. All of it is then in Updates, and nothing is folded.
	Place  Place  `query:"place" about:"snoozed or archived instead of the inbox"`
	Unread bool   `query:"unread" about:"of the updates, only conversations with unread mail"`
	From   string `query:"from" about:"only mail from this address or bare name"`
	Status bool   `query:"status" about:"only the status messages, which are otherwise folded into one row"`
	After  string `query:"after" about:"the next of the previous answer: only updates after it"`
	Limit  int    `query:"limit" about:"at most this many conversations of each part; 0 means 50, the maximum is 1000"`
}

// Checked returns q with its limit set, or an error if q is invalid by itself.
func (q DeskQuery) Checked() (DeskQuery, error) {
	if q.Limit < 0 || q.Limit > MaxLimit {
		return q, Errorf(Invalid, "limit %d is out of range; use 1 to %d", q.Limit, MaxLimit)
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

// Desk is the mail that waits for the user, in one room or in all.
type Desk struct {
	Needs   []Conversation `json:"needs"`
	Waiting int            `json:"waiting"` // total number that need the user
	// Updates are, on the first page, Limit rows and the row of folded conversations.
	Updates []Conversation `json:"updates"`
	Unread  int            `json:"unread"`         // total number of unread messages in the updates
	Next    string         `json:"next,omitempty"` // where the next page of updates begins
	// Away are rooms that could not be read.
	Away []RoomName `json:"away,omitempty"`
	// Trouble says how old the data is while the storage of some of the rooms cannot be reached; "" if it is
	// current.
	Trouble string `json:"trouble,omitempty"`
	// Degraded says, in sentences, what is wrong with the servers that store rooms, and that they may still have
	// erased text; "" if nothing is.
	Degraded string `json:"degraded,omitempty"`
}

// DeskSpot is a position among the updates of several rooms: newest first, equal times by room.
type DeskSpot struct {
	Sent Time
	Room RoomName
	Seq  Seq
}

// String returns the spot in the form of Desk.Next.
func (s DeskSpot) String() string {
	return strconv.FormatInt(int64(s.Sent), 10) + "." + strconv.FormatUint(uint64(s.Seq), 10) + "@" + string(s.Room)
}

// ParseDeskSpot parses a Desk.Next; "" is the zero spot.
func ParseDeskSpot(text string) (s DeskSpot, err error) {
	if text == "" {
		return s, nil
	}
	at, room, _ := strings.Cut(text, "@")
	sent, seq, _ := strings.Cut(at, ".")
	t, errSent := strconv.ParseInt(sent, 10, 64)
	n, errSeq := strconv.ParseUint(seq, 10, 64)
	if errSent != nil || errSeq != nil {
		return s, Errorf(Invalid, "%q is not a position in the updates; use the next of an earlier answer", text)
	}
	return DeskSpot{Time(t), RoomName(room), Seq(n)}, nil
}

// Compare orders spots in the order of the updates.
func (s DeskSpot) Compare(o DeskSpot) int {
	return cmp.Or(cmp.Compare(o.Sent, s.Sent), cmp.Compare(s.Room, o.Room), cmp.Compare(o.Seq, s.Seq))
}

// Spot returns the position of c among the updates.
func (c *Conversation) Spot() DeskSpot { return DeskSpot{c.Sent, c.Room, c.Seq} }

// compareNeeds orders the rows of NeedsYou.
func compareNeeds(a, b *Conversation) int {
	switch {
	case a.Urgent && !b.Urgent:
		return -1
	case b.Urgent && !a.Urgent:
		return 1
	}
	return cmp.Or(cmp.Compare(a.Sent, b.Sent), cmp.Compare(a.Room, b.Room), cmp.Compare(a.Seq, b.Seq))
}

// JoinDesks merges the desks of several rooms, each the answer to a query with a limit of most. A thread that
// bridges brought into several rooms is shown once, from the first of them.
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

// fold merges the rows that sum up agents' reports in several rooms.
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

// DeskChange says that an event in a room may have changed what waits for the user.
type DeskChange struct {
	// Room is "" in the first change of a watch, and when the change is unknown: read everything then.
	Room   RoomName `json:"room,omitempty"`
	Seq    Seq      `json:"seq,omitzero"`
	Needs  int      `json:"needs"`  // conversations in the room that need the user
	Unread int      `json:"unread"` // unread messages of the room in the user's mailbox
}

// DeskWatch reports changes. One goroutine uses it, and its owner closes it.
type DeskWatch interface {
	// Next returns the changes since the previous call, one per room, and waits for one until ctx ends. Changes
	// close together are reported together. After Close it returns Unavailable.
	Next(ctx context.Context) ([]DeskChange, error)
	Close() error
}

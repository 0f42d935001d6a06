package mail

import (
	"slices"
	"strings"
	"time"
)

// Mark is what a receipt says happened.
type Mark string

// The marks. The first four are set by Pennypost when it rings a door or hands text over, the others by the reader.
const (
	MarkNotified Mark = "notified" // a door was rung
	// MarkTold says that a client was handed the text, of which nobody knows yet whether its model will get it: until
	// it is Presented the message counts as Notified.
	MarkTold Mark = "told"
	// MarkUntold says that the client has dropped what it was told, or what stood in its own inbox. The message is
	// queued again.
	MarkUntold     Mark = "untold"
	MarkPresented  Mark = "presented" // the text reached the reader
	MarkRead       Mark = "read"
	MarkUnread     Mark = "unread"
	MarkArchived   Mark = "archived"
	MarkUnarchived Mark = "unarchived"
	// MarkSnoozed puts a message off until a time: it is unread, but not in the inbox before. Being read, unread or
	// archived ends that.
	MarkSnoozed Mark = "snoozed"
)

// DeliveryMarks lists the marks that say how far a message has got before its reader does anything.
func DeliveryMarks() []Mark { return []Mark{MarkNotified, MarkTold, MarkUntold, MarkPresented} }

// MaxSnooze is how long a message can be put off.
const MaxSnooze = 366 * 24 * time.Hour

// ParseMark checks a mark that a reader may set.
func ParseMark(s string) (Mark, error) {
	switch m := Mark(s); m {
	case MarkRead, MarkUnread, MarkArchived, MarkUnarchived, MarkSnoozed:
		return m, nil
	}
	return "", Errorf(Invalid, "%q is not a mark; use read, unread, archived, unarchived or snoozed", s)
}

// Receipt is a mark by one reader on one message. The latest receipt of a kind counts.
type Receipt struct {
	Message ID      `json:"message"`
	Reader  Address `json:"reader"`
	Mark    Mark    `json:"mark"`
	Door    string  `json:"door,omitempty"` // for notified and presented: through what
	Until   Time    `json:"until,omitzero"` // for snoozed
	// Machine is where the door is, for notified; "" where the room is in a file.
	Machine Machine `json:"machine,omitempty"`
}

// DeliveryState is where a message stands with one recipient.
type DeliveryState string

// The states of a delivery, in the order of a life; then those in which it does not move.
const (
	Queued    DeliveryState = "queued"    // durable, and nobody was told yet
	Notified  DeliveryState = "notified"  // a door was rung
	Presented DeliveryState = "presented" // the text reached the recipient
	Read      DeliveryState = "read"
	Archived  DeliveryState = "archived"

	Held    DeliveryState = "held"    // for a role that nobody live holds
	Expired DeliveryState = "expired" // its time ran out unread
	Dead    DeliveryState = "dead"    // its recipient is gone and has not read it
)

// NotSent stands in the answer to a send only: another room failed, and nothing of the message is there.
const NotSent DeliveryState = "not-sent"

// ParseDeliveryState checks the name of a state.
func ParseDeliveryState(s string) (DeliveryState, error) {
	if d := DeliveryState(s); slices.Contains(DeliveryStates(), d) {
		return d, nil
	}
	return "", Errorf(Invalid,
		"%q is not a state of a delivery; use queued, notified, presented, read, archived, held, expired or dead", s)
}

// DeliveryStates lists the states.
func DeliveryStates() []DeliveryState {
	return []DeliveryState{Queued, Notified, Presented, Read, Archived, Held, Expired, Dead}
}

// Delivery is one (message, recipient) pair.
type Delivery struct {
	Address Address       `json:"address"` // the address in To that reached the recipient
	Agent   Name          `json:"agent"`   // the recipient; empty while Held, or while nobody is in the audience
	State   DeliveryState `json:"state"`
	At      Time          `json:"at,omitzero"` // when State was entered, where a receipt says so
	Door    string        `json:"door,omitempty"`
	// whether and how the recipient will be woken: a Wake… constant, or the name of a door
	Wake string `json:"wake"`
	// of WakeDeferred and WakeBroken: until when
	PutOff Time `json:"put_off,omitzero"`
	// Sees says, where nobody rings, what the next turn of the recipient shows it: SeesWhole or SeesCount. "": its
	// client shows it nothing by itself, so that it sees mail when it looks.
	Sees string `json:"sees,omitempty"`
	// Asking is since when the recipient is at a dialog of its client, which its person has to answer; Doubt says
	// that it may have been answered there.
	Asking Time `json:"asking,omitzero"`
	Doubt  bool `json:"doubt,omitzero"`
	// Machine is the other machine whose post office wakes the recipient, or should.
	Machine Machine `json:"machine,omitempty"`
	Why     string  `json:"why,omitempty"` // of NotSent: what the other room said
}

// What a Delivery says of waking.
const (
	WakeNone    = "none"     // mail of this kind wakes nobody
	WakeWaiting = "waiting"  // the recipient is blocked in a wait and gets it now
	WakeTurnEnd = "turn-end" // the recipient is working and looks when its turn ends
	WakeNoDoor  = "no-door"  // it should wake the recipient, but no way to do so is known
	// The recipient is at a dialog of its client: it looks, or is rung, when that has ended.
	WakeAsking = "asking"
	// The recipient is rung later: it was rung in vain as often as it may be, or its doors fail.
	WakeDeferred = "deferred"
	// The recipient's last turn was broken off, by its person for instance: it is left alone for a moment.
	WakeBroken = "broken-off"
	// Delivery.Machine is not heard of, and nobody else can wake the recipient: it is woken when that is back.
	WakeAway = "away"
)

// What a Delivery says of the recipient's next turn.
const (
	SeesWhole = "whole" // the message, or a pointer to it if it is long
	SeesCount = "count" // how many messages of its kind there are
)

// WakeOn says in Delivery.Wake that a recipient is woken on another machine: "socket on laptop-2", or "on laptop-2"
// where it is not known here through which door.
func WakeOn(at Machine, door string) string {
	return strings.TrimSpace(door + " on " + string(at))
}

// CountStates counts deliveries by state. Nil means none.
func CountStates(ds []Delivery) map[DeliveryState]int {
	var n map[DeliveryState]int
	for _, d := range ds {
		if n == nil {
			n = make(map[DeliveryState]int)
		}
		n[d.State]++
	}
	return n
}

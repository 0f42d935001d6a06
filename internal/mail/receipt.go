package mail

import (
	"slices"
	"strings"
	"time"
)

// Mark is the kind of a receipt.
type Mark string

// The marks. Pennypost sets the first four when it rings a door or hands text over; the reader sets the others.
const (
	MarkNotified Mark = "notified" // a door was rung
	// MarkTold says that a client was given the text, but it is not known yet whether its model gets it: until it
	// is Presented, the message counts as Notified.
	MarkTold Mark = "told"
	// MarkUntold says that the client has dropped the text that it was told, or the message in its own inbox. The
	// message is queued again.
	MarkUntold     Mark = "untold"
	MarkPresented  Mark = "presented" // the text reached the reader
	MarkRead       Mark = "read"
	MarkUnread     Mark = "unread"
	MarkArchived   Mark = "archived"
	MarkUnarchived Mark = "unarchived"
	// MarkSnoozed puts a message off until a time: it is unread, but not in the inbox before then. Marking it read,
	// unread or archived ends that. Only the user may snooze.
	MarkSnoozed Mark = "snoozed"
)

// DeliveryMarks lists the marks for how far a message has got before its reader acts.
func DeliveryMarks() []Mark { return []Mark{MarkNotified, MarkTold, MarkUntold, MarkPresented} }

// MaxSnooze is the longest time for which a message can be snoozed.
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
	Door    string  `json:"door,omitempty"` // for notified and presented: the door used
	Until   Time    `json:"until,omitzero"` // for snoozed
	// Machine is, for notified, where the door is; "" if the room is in a file.
	Machine Machine `json:"machine,omitempty"`
}

// DeliveryState is how far a message has got with one recipient.
type DeliveryState string

// The states of a delivery, in the order of its life; then those in which it is stuck.
const (
	Queued    DeliveryState = "queued"    // durable; the recipient was not notified yet
	Notified  DeliveryState = "notified"  // a door was rung
	Presented DeliveryState = "presented" // the text reached the recipient
	Read      DeliveryState = "read"
	Archived  DeliveryState = "archived"

	Held    DeliveryState = "held"    // for a role that no live agent holds
	Expired DeliveryState = "expired" // its time ran out before it was read
	Dead    DeliveryState = "dead"    // its recipient is gone without having read it
)

// NotSent occurs only in the answer to a send: another room failed and does not have the message.
const NotSent DeliveryState = "not-sent"

// ParseDeliveryState checks the name of a state.
func ParseDeliveryState(s string) (DeliveryState, error) {
	if d := DeliveryState(s); slices.Contains(DeliveryStates(), d) {
		return d, nil
	}
	return "", Errorf(Invalid,
		"%q is not a delivery state; use queued, notified, presented, read, archived, held, expired or dead", s)
}

// DeliveryStates lists the states.
func DeliveryStates() []DeliveryState {
	return []DeliveryState{Queued, Notified, Presented, Read, Archived, Held, Expired, Dead}
}

// Delivery is one (message, recipient) pair.
type Delivery struct {
	Address Address       `json:"address"` // the address in To that reached the recipient
	Agent   Name          `json:"agent"`   // the recipient; empty while Held, or while the audience is empty
	State   DeliveryState `json:"state"`
	At      Time          `json:"at,omitzero"` // when State was entered, if a receipt says so
	Door    string        `json:"door,omitempty"`
	// whether and how the recipient will be woken: a Wake… constant, or the name of a door
	Wake string `json:"wake"`
	// for WakeDeferred and WakeBroken: until when
	PutOff Time `json:"put_off,omitzero"`
	// Sees says, if no one rings, how the recipient's next turn shows the message: SeesWhole or SeesCount. "": its
	// client shows nothing by itself, so it sees mail only when it looks.
	Sees string `json:"sees,omitempty"`
	// Asking is since when the recipient's client has shown a dialog that its person must answer; Doubt says that
	// it may have been answered there.
	Asking Time `json:"asking,omitzero"`
	Doubt  bool `json:"doubt,omitzero"`
	// Machine is the other machine whose post office wakes the recipient, or should.
	Machine Machine `json:"machine,omitempty"`
	Why     string  `json:"why,omitempty"` // for NotSent: the other room's error
}

// Waking, as a Delivery reports it.
const (
	WakeNone    = "none"     // mail of this kind wakes no one
	WakeWaiting = "waiting"  // the recipient is blocked in a wait and gets it now
	WakeTurnEnd = "turn-end" // the recipient is working and looks when its turn ends
	WakeNoDoor  = "no-door"  // it should wake the recipient, but no way to do so is known
	// The recipient's client is showing a dialog: the recipient looks, or is rung, when that has ended.
	WakeAsking = "asking"
	// The recipient is rung later: the limit of unanswered rings is reached, or its doors fail.
	WakeDeferred = "deferred"
	// The recipient's last turn was interrupted, for instance by its person: it is left alone for a moment.
	WakeBroken = "broken-off"
	// Delivery.Machine cannot be heard, and only it can wake the recipient: the recipient is woken when it is back.
	WakeAway = "away"
)

// The recipient's next turn, as a Delivery reports it.
const (
	SeesWhole = "whole" // the message, or a pointer to it if it is long
	SeesCount = "count" // the number of messages of its kind
)

// WakeOn returns a Delivery.Wake for a recipient woken on another machine: "socket on laptop-2", or "on laptop-2"
// if the door is not known here.
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

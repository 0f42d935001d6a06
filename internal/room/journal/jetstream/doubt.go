package jetstream

import (
	"errors"
	"fmt"
	"slices"

	"github.com/nats-io/nats.go"

	"pennypost/internal/mail"
	"pennypost/internal/room/journal"
)

// The outcome of an attempt to store something, when the answer is not that it is stored: nothing is stored, or it is
// unknown.

// Codes of errors in the servers' answers.
const (
	codeWrongLast  = 10071 // the last sequence is not the expected one
	codeInProcess  = 10158 // the same message is being stored
	codeInFlight   = 10164 // another message is being stored where the last sequence is expected
	codeIncomplete = 10176 // the servers have not received all of the batch
	codeHasIDs     = 10201 // the batch has a message that is stored already
	codeTooMany    = 10210 // too many batches at the same time
)

// answer is the servers' answer to a message or a batch.
type answer struct {
	Sequence mail.Seq `json:"seq"`
	Error    *failure `json:"error"`
}

type failure struct {
	Code int    `json:"err_code"`
	Text string `json:"description"`
}

func (f *failure) Error() string { return f.Text }

// passing reports whether the servers may accept the same a moment later.
func (f *failure) passing() bool {
	return f.Code == codeIncomplete || f.Code == codeTooMany || f.Code == codeInFlight
}

// errUnchecked means that it is not known yet whether the servers still have everything they had.
var errUnchecked = errors.New("the copy is being compared with the servers")

// leftNothing reports whether a failed attempt proves that it stored nothing. The errors that prove it are listed:
// all others, including new ones of later clients or servers, leave it in doubt. ErrDisconnected and
// ErrConnectionClosed are not listed: they also end the requests of all rooms that wait for an answer, when another
// server is tried because of one.
func leftNothing(err error) bool {
	if of, answered := errors.AsType[*failure](err); answered {
		return of.passing() || slices.Contains(refusals, of.Code)
	}
	return notConnected(err) || err == errUnchecked ||
		err == nats.ErrNoResponders || // the server knew no one to take it
		err == nats.ErrMaxPayload // the client does not send such a message
}

// refusals are the error codes that servers return before they have stored any of a batch, or told each other of it:
// nats-server 2.15.2, processClusteredInboundMsg and processJetStreamAtomicBatchMsg. "Store failed" (10077) is not
// one: a leader also returns it when its disk refuses a message that the other replicas have stored. Nor is "in
// process" (10158).
var refusals = []int{
	10002, 10023, 10047, // resources of the account, of the server, of its disk
	10054, 10097, // message or header too large
	10060, codeWrongLast, codeInFlight, // another stream or last sequence than expected
	10109,                                           // sealed
	10174, 10175, 10177, 10179, 10185, 10199, 10200, // batches that the servers reject
	codeHasIDs,
}

// noConnection is why nothing that the servers could store was given to a connection.
type noConnection struct{ error }

func (e noConnection) Unwrap() error { return e.error }

// notConnected reports whether an attempt ended before its message, or the last one of its batch, was given to the
// connection.
func notConnected(err error) bool {
	_, none := errors.AsType[noConnection](err)
	return none || err == nats.ErrReconnectBufExceeded
}

func (j *Journal) notSent(err error) error {
	return &mail.Error{Code: mail.Unavailable, Err: errors.Join(journal.ErrAway, err),
		Msg: j.cluster.away(err) + ". Nothing was stored; all acknowledged mail is safe. Try again when they " +
			"return: no restart is needed"}
}

func (j *Journal) refused(err error) error {
	return &mail.Error{Code: mail.Unavailable, Err: err,
		Msg: fmt.Sprintf("the NATS servers refused this (%v). Nothing was stored", err)}
}

func (j *Journal) unknown(err error) error {
	return j.inDoubt(j.cluster.away(err)+". This was sent to them", err)
}

// inDoubt is the error for senders when it is unknown whether their events are stored.
func (j *Journal) inDoubt(why string, err error) error {
	return &mail.Error{Code: mail.Unavailable, Err: errors.Join(journal.ErrUnknown, err), Msg: why +
		". It may or may not be stored. Send it again with the same key: it is stored only once"}
}

// unplaced is the error for senders of events that are stored, but that this machine's disk does not take.
func (j *Journal) unplaced(err error) error {
	return &mail.Error{Code: mail.Unavailable, Err: errors.Join(journal.ErrUnknown, err), Msg: fmt.Sprintf(
		"the NATS servers have stored this, but the disk of this machine could not write its copy (%v), so it is "+
			"not visible here yet. Free space on the disk or repair it; if sent again with the same key, it is "+
			"stored only once",
		cause(err))}
}

// cause returns the cause of an error whose text says more than is true here.
func cause(err error) error {
	if said, ok := errors.AsType[*mail.Error](err); ok && said.Err != nil {
		return said.Err
	}
	return err
}

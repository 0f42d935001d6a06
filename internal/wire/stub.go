package wire

import (
	"context"

	"pennypost/internal/mail"
)

// Carrier takes a call to a room: across a connection, for which it needs in and a pointer to the answer, or to a
// local mail.Service, on which it calls on.
type Carrier interface {
	Carry(ctx context.Context, r *Route, in, out any, on func(mail.Service) error) error
}

// Do makes one call.
func Do[In, Out any](ctx context.Context, c Carrier, call *Call[In, Out], in In) (out Out, err error) {
	err = c.Carry(ctx, &call.Route, in, &out, func(s mail.Service) (err error) {
		out, err = call.On(s, ctx, in)
		return err
	})
	return out, err
}

// Stub is mail.Service except the streams Watch and Export: each method makes its call.
type Stub struct{ Carrier Carrier }

// Send implements mail.Sender.
func (s Stub) Send(ctx context.Context, d mail.Draft) (mail.Sent, error) {
	return Do(ctx, s.Carrier, &SendCall, d)
}

// Inbox implements mail.Reader.
func (s Stub) Inbox(ctx context.Context, q mail.InboxQuery) (mail.Page, error) {
	return Do(ctx, s.Carrier, &InboxCall, q)
}

// History implements mail.Reader.
func (s Stub) History(ctx context.Context, q mail.HistoryQuery) (mail.Page, error) {
	return Do(ctx, s.Carrier, &HistoryCall, q)
}

// Message implements mail.Reader.
func (s Stub) Message(ctx context.Context, id mail.ID) (mail.Item, error) {
	return Do(ctx, s.Carrier, &MessageCall, id)
}

// Desk implements mail.Reader.
func (s Stub) Desk(ctx context.Context, q mail.DeskQuery) (mail.Desk, error) {
	return Do(ctx, s.Carrier, &DeskCall, q)
}

// Mark implements mail.Marker.
func (s Stub) Mark(ctx context.Context, m mail.Marking) (mail.Marked, error) {
	return Do(ctx, s.Carrier, &MarkCall, m)
}

// Wait implements mail.Watcher.
func (s Stub) Wait(ctx context.Context, q mail.WaitQuery) (mail.Item, error) {
	return Do(ctx, s.Carrier, &WaitCall, WaitQuery{WaitQuery: q})
}

// Withdraw implements mail.Tracker.
func (s Stub) Withdraw(ctx context.Context, id mail.ID) error {
	_, err := Do(ctx, s.Carrier, &WithdrawCall, id)
	return err
}

// Waiting implements mail.Tracker.
func (s Stub) Waiting(ctx context.Context, q mail.WaitingQuery) (mail.WaitingList, error) {
	return Do(ctx, s.Carrier, &WaitingCall, q)
}

// Stuck implements mail.Tracker.
func (s Stub) Stuck(ctx context.Context, q mail.StuckQuery) (mail.StuckList, error) {
	return Do(ctx, s.Carrier, &StuckCall, q)
}

// Turn implements mail.Turner.
func (s Stub) Turn(ctx context.Context, t mail.Turn) (mail.Briefing, error) {
	return Do(ctx, s.Carrier, &TurnCall, t)
}

// Dialog implements mail.Turner.
func (s Stub) Dialog(ctx context.Context, c mail.DialogChange) error {
	_, err := Do(ctx, s.Carrier, &DialogCall, c)
	return err
}

// Agents implements mail.Registrar.
func (s Stub) Agents(ctx context.Context, q mail.RosterQuery) (mail.AgentList, error) {
	return Do(ctx, s.Carrier, &AgentsCall, q)
}

// Register implements mail.Registrar.
func (s Stub) Register(ctx context.Context, p mail.Presence) (mail.Agent, error) {
	return Do(ctx, s.Carrier, &RegisterCall, p)
}

// Rename implements mail.Registrar.
func (s Stub) Rename(ctx context.Context, from, to mail.Name) (mail.Agent, error) {
	return Do(ctx, s.Carrier, &RenameCall, Rename{From: from, To: to})
}

// Merge implements mail.Registrar.
func (s Stub) Merge(ctx context.Context, from, into mail.Name) (mail.Agent, error) {
	return Do(ctx, s.Carrier, &MergeCall, Merge{From: from, Into: into})
}

// Retire implements mail.Registrar.
func (s Stub) Retire(ctx context.Context, name mail.Name) error {
	_, err := Do(ctx, s.Carrier, &RetireCall, name)
	return err
}

// Token implements mail.Registrar.
func (s Stub) Token(ctx context.Context, name mail.Name) (string, error) {
	t, err := Do(ctx, s.Carrier, &TokenCall, name)
	return t.Token, err
}

// GuestToken implements mail.Registrar.
func (s Stub) GuestToken(ctx context.Context, name mail.Name) (string, error) {
	t, err := Do(ctx, s.Carrier, &GuestTokenCall, name)
	return t.Token, err
}

// Claims implements mail.Claimer.
func (s Stub) Claims(ctx context.Context, q mail.ClaimQuery) (mail.ClaimList, error) {
	return Do(ctx, s.Carrier, &ClaimsCall, q)
}

// Claim implements mail.Claimer.
func (s Stub) Claim(ctx context.Context, r mail.ClaimRequest) (mail.Claimed, error) {
	return Do(ctx, s.Carrier, &ClaimCall, r)
}

// Grants implements mail.Registrar.
func (s Stub) Grants(ctx context.Context) ([]mail.Grant, error) {
	list, err := Do(ctx, s.Carrier, &GrantsCall, None{})
	return list.Grants, err
}

// Grant implements mail.Registrar.
func (s Stub) Grant(ctx context.Context, g mail.Grant) (mail.Grant, error) {
	return Do(ctx, s.Carrier, &GrantCall, g)
}

// Bridges implements mail.Connector.
func (s Stub) Bridges(ctx context.Context) ([]mail.BridgeStatus, error) {
	list, err := Do(ctx, s.Carrier, &BridgesCall, None{})
	return list.Bridges, err
}

// AddBridge implements mail.Connector.
func (s Stub) AddBridge(ctx context.Context, b mail.Bridge) (mail.BridgeStatus, error) {
	return Do(ctx, s.Carrier, &AddBridgeCall, b)
}

// RemoveBridge implements mail.Connector.
func (s Stub) RemoveBridge(ctx context.Context, id string) error {
	_, err := Do(ctx, s.Carrier, &RemoveBridgeCall, id)
	return err
}

// SyncBridge implements mail.Connector.
func (s Stub) SyncBridge(ctx context.Context, id string) (mail.BridgeStatus, error) {
	return Do(ctx, s.Carrier, &SyncBridgeCall, id)
}

// RejectedLines implements mail.Connector.
func (s Stub) RejectedLines(ctx context.Context, id string) ([]mail.BadLine, error) {
	list, err := Do(ctx, s.Carrier, &RejectedLinesCall, id)
	return list.Lines, err
}

// Workspaces implements mail.Connector.
func (s Stub) Workspaces(ctx context.Context) ([]mail.Workspace, error) {
	list, err := Do(ctx, s.Carrier, &WorkspacesCall, None{})
	return list.Workspaces, err
}

// AddWorkspace implements mail.Connector.
func (s Stub) AddWorkspace(ctx context.Context, w mail.Workspace) (mail.Workspace, error) {
	return Do(ctx, s.Carrier, &AddWorkspaceCall, w)
}

// RemoveWorkspace implements mail.Connector.
func (s Stub) RemoveWorkspace(ctx context.Context, id mail.Name) error {
	_, err := Do(ctx, s.Carrier, &RemoveWorkspaceCall, id)
	return err
}

// Status implements mail.Keeper.
func (s Stub) Status(ctx context.Context) (mail.RoomStatus, error) {
	return Do(ctx, s.Carrier, &StatusCall, None{})
}

// Erase implements mail.Keeper.
func (s Stub) Erase(ctx context.Context, id mail.ID) error {
	_, err := Do(ctx, s.Carrier, &EraseCall, id)
	return err
}

// Scheduled implements mail.Scheduler.
func (s Stub) Scheduled(ctx context.Context) (mail.ScheduledList, error) {
	return Do(ctx, s.Carrier, &ScheduledCall, None{})
}

// Reschedule implements mail.Scheduler.
func (s Stub) Reschedule(ctx context.Context, r mail.Rescheduling) (mail.Scheduled, error) {
	return Do(ctx, s.Carrier, &RescheduleCall, r)
}

// Unschedule implements mail.Scheduler.
func (s Stub) Unschedule(ctx context.Context, id mail.ID) error {
	_, err := Do(ctx, s.Carrier, &UnscheduleCall, id)
	return err
}

// Archive implements mail.Keeper.
func (s Stub) Archive(ctx context.Context) (mail.Trimmed, error) {
	return Do(ctx, s.Carrier, &ArchiveCall, None{})
}

// Verify implements mail.Keeper.
func (s Stub) Verify(ctx context.Context) (mail.Verification, error) {
	return Do(ctx, s.Carrier, &VerifyCall, None{})
}

// Repair implements mail.Keeper.
func (s Stub) Repair(ctx context.Context) (mail.Verification, error) {
	return Do(ctx, s.Carrier, &RepairCall, None{})
}

// Import implements mail.Keeper.
func (s Stub) Import(ctx context.Context, items []mail.Item) (mail.Imported, error) {
	return Do(ctx, s.Carrier, &ImportCall, items)
}

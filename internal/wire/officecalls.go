package wire

import (
	"net/http"

	"pennypost/internal/mail"
)

// The requests to a post office as a whole. httpapi implements them.
var (
	OfficeCall = Call[None, Status]{Route: Route{ID: "status", Method: http.MethodGet, Path: "/status",
		About: "Figures about the post office."}}
	StopCall = Call[None, None]{Route: Route{ID: "stop", Method: http.MethodPost, Path: "/stop",
		About:    "Begin to stop the post office. Only the user may.",
		UserOnly: true, Here: true, Success: http.StatusAccepted}}
	BackupRoute = Route{ID: "backup", Method: http.MethodGet, Path: "/backup",
		About: "Every room, token and setting as one file, a tar archive in gzip. Only the user may, over the Unix " +
			"socket.",
		UserOnly: true, Here: true}
	NotifyCall = Call[None, NotifyChannels]{Route: Route{ID: "notify", Method: http.MethodGet, Path: "/notify",
		About:    "The channels that notify the user of mail, and their state. Only the user may.",
		UserOnly: true, Here: true}}
	NotifyTestCall = Call[NotifyTest, NotifyTests]{Route: Route{ID: "notifyTest", Method: http.MethodPost,
		Path: "/notify/test",
		About: "Send a test through a channel, or through all, and answer with the other side's response. Only " +
			"the user may.",
		UserOnly: true, Here: true}}
	NotifyPairCall = Call[NotifyPair, NotifyPairing]{Route: Route{ID: "notifyPair", Method: http.MethodPost,
		Path: "/notify/pair",
		About: "Make a code that pairs the chat from which it is sent to the bot of a channel, within ten minutes. " +
			"Only the user may.",
		UserOnly: true, Here: true, Success: http.StatusCreated}}
	NotifyUnpairCall = Call[NotifyPair, None]{Route: Route{ID: "notifyUnpair", Method: http.MethodPost,
		Path:     "/notify/unpair",
		About:    "End the pairing of a channel's chat. Only the user may.",
		UserOnly: true, Here: true}}
	MachinesCall = Call[None, Machines]{Route: Route{ID: "machines", Method: http.MethodGet, Path: "/machines",
		About: "The machines whose post offices have rooms on the same NATS servers, by name, and the state of " +
			"those servers. Only the user may ask.",
		UserOnly: true, Here: true}}
	TryCall = Call[None, Trials]{Route: Route{ID: "try", Method: http.MethodPost, Path: "/try",
		About: "Write a test message to each kind of journal in use, and read it. It is in no room. Only the " +
			"user may.",
		UserOnly: true, Here: true}}
	AdmitMachineCall = Call[AdmitMachine, None]{Route: Route{ID: "admitMachine", Method: http.MethodPost,
		Path: "/machines",
		About: "Admit a machine, by its signing key, to the rooms on NATS servers that this one uses. Only the " +
			"user may.",
		UserOnly: true, Here: true}}
	RemoveMachineCall = Call[mail.Machine, None]{Route: Route{ID: "removeMachine", Method: http.MethodDelete,
		Path: "/machines/{machine}",
		About: "Forget a machine that will not return: operations that need every machine, such as erasing text, " +
			"no longer wait for it. Only the user may.",
		UserOnly: true, Here: true}}
)

// The calls of the mail that is kept on this machine.
var (
	OutboxCall = Call[None, mail.Outbox]{Route: Route{ID: "outbox", Method: http.MethodGet, Path: "/outbox",
		About: "The mail kept on this machine because its room is unreachable: all of it for the user, an " +
			"agent's own for an agent.",
		Here: true}}
	WithdrawKeptCall = Call[string, None]{Route: Route{ID: "withdrawKept", Method: http.MethodDelete,
		Path: "/outbox/{key}",
		About: "Remove a message from this machine's outbox, and its text from the disk: it is not sent. Only " +
			"the user may.",
		UserOnly: true, Here: true}}
)

// The calls about access.
var (
	LoginCall = Call[Login, Link]{Route: Route{ID: "login", Method: http.MethodPost, Path: "/login",
		About: "Make a link that logs the first browser that opens it in as the user, within ten minutes. Only the " +
			"user may.",
		UserOnly: true, Success: http.StatusCreated}}
	SessionsCall = Call[None, Sessions]{Route: Route{ID: "sessions", Method: http.MethodGet, Path: "/sessions",
		About:    "The browsers that are logged in to the pages. Only the user may.",
		UserOnly: true, Here: true}}
	EndSessionsCall = Call[None, None]{Route: Route{ID: "endSessions", Method: http.MethodDelete, Path: "/sessions",
		About:    "Log all browsers out. Only the user may.",
		UserOnly: true, Here: true}}
	EndSessionCall = Call[string, None]{Route: Route{ID: "endSession", Method: http.MethodDelete,
		Path:     "/sessions/{session}",
		About:    "Log one browser out. Only the user may.",
		UserOnly: true, Here: true}}
	InviteCall = Call[Invite, Invited]{Route: Route{ID: "invite", Method: http.MethodPost, Path: "/invites",
		About:    "Make a code that lets another machine in, once. Only the user may, and not from another machine.",
		UserOnly: true, Here: true, Success: http.StatusCreated}}
	InvitesCall = Call[None, Invites]{Route: Route{ID: "invites", Method: http.MethodGet, Path: "/invites",
		About:    "The machines that were let in, and the valid codes. Only the user may ask.",
		UserOnly: true, Here: true}}
	RevokeCall = Call[string, None]{Route: Route{ID: "revoke", Method: http.MethodDelete, Path: "/invites/{name}",
		About: "Revoke a machine: its token becomes void and its connections end. Or revoke a code, by its id. " +
			"Only the user may.",
		UserOnly: true, Here: true}}
	JoinCall = Call[Join, Joined]{Route: Route{ID: "join", Method: http.MethodPost, Path: "/join",
		About: "Use a code, and answer with the token of the machine that asks. Over TLS only; without a " +
			"credential, or with that machine's earlier token.",
		Open: true, Success: http.StatusCreated}}
	LeaveCall = Call[None, None]{Route: Route{ID: "leave", Method: http.MethodDelete, Path: "/join",
		About: "Return the token of the machine that asks."}}
	AddCredentialCall = Call[NewCredential, MadeCredential]{Route: Route{ID: "addCredential",
		Method: http.MethodPost, Path: "/credentials",
		About:    "Make a credential for scripts. Only this answer contains its token. Only the user may.",
		UserOnly: true, Here: true, Success: http.StatusCreated}}
	CredentialsCall = Call[None, Credentials]{Route: Route{ID: "credentials", Method: http.MethodGet,
		Path:     "/credentials",
		About:    "The valid credentials for scripts. Only the user may ask.",
		UserOnly: true, Here: true}}
	RevokeCredentialCall = Call[string, None]{Route: Route{ID: "revokeCredential", Method: http.MethodDelete,
		Path:     "/credentials/{name}",
		About:    "Revoke a credential: its connections end. Only the user may.",
		UserOnly: true, Here: true}}
	ConfirmCall = Call[Confirmation, None]{Route: Route{ID: "confirm", Method: http.MethodPost,
		Path: "/confirmation",
		About: "Take the passphrase typed at the caller's terminal, which from then on may do sensitive acts. " +
			"Over the Unix socket only. Only the user may.",
		UserOnly: true, Here: true}}
	SetPassphraseCall = Call[NewPassphrase, None]{Route: Route{ID: "setPassphrase", Method: http.MethodPut,
		Path: "/passphrase",
		About: "Set the passphrase that [user] confirm asks for; replacing one needs the old one. Over the Unix " +
			"socket only. Only the user may.",
		UserOnly: true, Here: true}}
)

// The calls for all rooms, and for the management of one.
var (
	RoomsCall = Call[None, Rooms]{Route: Route{ID: "rooms", Method: http.MethodGet, Path: "/rooms",
		About: "The rooms that the caller may enter."}}
	DesksCall = Call[mail.DeskQuery, mail.Desk]{Route: Route{ID: "desks", Method: http.MethodGet, Path: "/desk",
		About: "What waits for the user in all rooms, by conversation: what needs an answer, and updates. Only the " +
			"user may ask.",
		UserOnly: true}}
	FleetCall = Call[mail.FleetQuery, mail.Fleet]{Route: Route{ID: "fleet", Method: http.MethodGet, Path: "/fleet",
		About: "The agents of all rooms, what is stuck there, or who waits for whom, by room. A closed room " +
			"answers as it was when it was closed. Only the user may ask.",
		UserOnly: true}}
	FleetMailCall = Call[mail.FleetMailQuery, mail.FleetMail]{Route: Route{ID: "fleetMail", Method: http.MethodGet,
		Path: "/messages",
		About: "The history of several rooms, room by room, with the parameters of one room's history. Only the " +
			"user may ask.",
		UserOnly: true}}
	DeskEventsRoute = Route{ID: "deskEvents", Method: http.MethodGet, Path: "/desk/events",
		About: "Changes on the user's desk, as server-sent events: event is desk, data names the room. The " +
			"first, without a room, comes immediately. Only the user may ask.",
		UserOnly: true}
	MoveRoomCall = Call[MoveRoom, MovedRoom]{Route: Route{ID: "moveRoom", Method: http.MethodPost,
		Path: Room + "/move",
		About: "Move a room to the NATS servers, to another shard there, or to a file on this machine, while " +
			"mail continues. If interrupted, ask again. Only the user may.",
		UserOnly: true, Here: true}}
	ShardsCall = Call[None, Shards]{Route: Route{ID: "shards", Method: http.MethodGet, Path: "/shards",
		About: "The streams that rooms on the NATS servers share: the number of rooms in each, its size, and its " +
			"leading server. Only the user may ask.",
		UserOnly: true, Here: true}}
	MakeShardsCall = Call[MakeShards, Shards]{Route: Route{ID: "makeShards", Method: http.MethodPost, Path: "/shards",
		About: "Add shards until there are that many. Rooms stay where they are; new rooms are spread over all. " +
			"Only the user may.",
		UserOnly: true, Here: true}}
	RestoreRoomCall = Call[RestoreRoom, RestoredRoom]{Route: Route{ID: "restoreRoom", Method: http.MethodPost,
		Path: Room + "/restore",
		About: "Compare a room on the NATS servers with the machines' copies of it, and, if from names one of " +
			"these, write its stream again from that copy. Only the user may.",
		UserOnly: true, Here: true}}
	RemoveRoomCall = Call[None, RemovedRoom]{Route: Route{ID: "removeRoom", Method: http.MethodDelete, Path: Room,
		About: "Remove a room: watches and waits there end, its tokens are void, its files are moved out of the " +
			"way. Only the user may.",
		UserOnly: true, Here: true}}
	// AttachCall has no method in mail.Service: the display of a session belongs to the machine, not to the room.
	AttachCall = Call[Attach, Attached]{Route: Route{ID: "attach", Method: http.MethodPost,
		Path: Room + "/agents/{name}/attach",
		About: "Bring the agent's session to the front if possible; otherwise answer with the command that shows " +
			"or resumes it. Only the user may.",
		UserOnly: true, Here: true}}
)

// The calls of agents' clients.
var (
	HookRoute = Route{ID: "hook", Method: http.MethodPost, Path: "/hooks/{client}/{event}",
		About: "Pass on a hook that an agent's client runs, with the client's input as the body, and answer with " +
			"the output for its process. White space may precede it. Over the Unix socket only."}
	HookTakenCall = Call[string, None]{Route: Route{ID: "hookTaken", Method: http.MethodPost,
		Path:   "/taken/{ticket}",
		About:  "Confirm that the client has taken a hook's output: the mail in it is marked then.",
		Repeat: true}}
	DialogsCall = Call[mail.DialogQuery, mail.Cards]{Route: Route{ID: "dialogs", Method: http.MethodGet,
		Path: "/dialogs",
		About: "The open dialogs of agents' clients, those that have waited longest first. Long texts are " +
			"complete only for the one that id names. Only the user may ask.",
		UserOnly: true}}
	AnswerDialogCall = Call[mail.DialogAnswer, None]{Route: Route{ID: "answerDialog", Method: http.MethodPost,
		Path: "/dialogs",
		About: "Answer a dialog of an agent's client, once; the first answer wins. Only the user may, by an act of " +
			"their own.",
		UserOnly: true, Here: true}}
	AwayCall = Call[None, Aways]{Route: Route{ID: "away", Method: http.MethodGet, Path: "/away",
		About: "The agents from whose terminals the user is away: their dialogs wait for an answer from " +
			"elsewhere. Only the user may ask.",
		UserOnly: true, Here: true}}
	SetAwayCall = Call[Away, Aways]{Route: Route{ID: "setAway", Method: http.MethodPut, Path: "/away",
		About: "Say that the user is away from the terminal of an agent, or of all, until a time; a past time " +
			"ends it. Only the user may.",
		UserOnly: true, Here: true, Success: http.StatusOK}}
	PlaceCall = Call[Place, Placed]{Route: Route{ID: "place", Method: http.MethodPost, Path: "/place",
		About: "Answer which room and agent a client's session has, as far as the user lets a repository's file " +
			"or a command line choose. With starts, the user is asked about the rest.",
		Repeat: true}}
)

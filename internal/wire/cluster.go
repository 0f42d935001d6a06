package wire

import "pennypost/internal/mail"

// ClusterInit asks the process of a machine's NATS server to make a cluster.
type ClusterInit struct {
	Name    mail.Machine `json:"name"`
	Address string       `json:"address"` // HOST:PORT at which the others find this machine
}

// ClusterJoin asks it to join one.
type ClusterJoin struct {
	At   string `json:"at"`   // HOST:PORT of a machine of the cluster
	Code string `json:"code"` // made by that machine
	// Name is the proposed name of this machine. Named says that the person chose it, and that no other name will do.
	Name  mail.Machine `json:"name"`
	Named bool         `json:"named,omitzero"`
	// Address is HOST:PORT at which the others find this machine; without HOST, it is the local address of the
	// connection to the other one.
	Address string `json:"address"`
}

// ClusterInvite asks for a code.
type ClusterInvite struct {
	Good int64 `json:"good_s,omitzero"` // how long it is valid, in seconds; default 30 minutes, at most a day
}

// ClusterInvited answers ClusterInvite.
type ClusterInvited struct {
	Address string    `json:"address"` // to which the other machine connects
	Code    string    `json:"code"`    // shown only here
	Expires mail.Time `json:"expires"`
}

// ClusterRemove asks to remove a machine; without a name, this one.
type ClusterRemove struct {
	Machine mail.Machine `json:"machine"`
}

// ClusterStatus is the state of a cluster, as one of its machines sees it.
type ClusterStatus struct {
	Machine mail.Machine    `json:"machine"` // the reporting machine
	Members []ClusterMember `json:"members"` // by name
	// Replicas is the intended number of servers for each room, Streams the number of streams, and Lacking how many
	// of them do not have that many servers, or not up to date, yet.
	Replicas int `json:"replicas"`
	Streams  int `json:"streams"`
	Lacking  int `json:"lacking"`
	// MayFail is how many more servers may fail before mail stops somewhere; negative: it has stopped. Nil: unknown.
	MayFail *int   `json:"may_fail,omitempty"`
	Trouble string `json:"trouble,omitempty"` // why some of this is unknown
}

// ClusterMember is a machine of a cluster.
type ClusterMember struct {
	Machine mail.Machine `json:"machine"`
	Address string       `json:"address"`
	Up      bool         `json:"up"`
	Version string       `json:"version,omitempty"` // of its server
	Streams int          `json:"streams"`           // number of streams on it
}

package wire

import "pennypost/internal/mail"

// ClusterInit asks the process of a machine's NATS server to make a cluster.
type ClusterInit struct {
	Name    mail.Machine `json:"name"`
	Address string       `json:"address"` // HOST:PORT by which the others find this machine
}

// ClusterJoin asks it to join one.
type ClusterJoin struct {
	At   string `json:"at"`   // HOST:PORT of a machine of the cluster
	Code string `json:"code"` // that was made there
	// Name is how this machine is to be called. Named says that the person said so, and that no other name will do.
	Name  mail.Machine `json:"name"`
	Named bool         `json:"named,omitzero"`
	// Address is HOST:PORT by which the others find this machine; without HOST it is that of the way to the other one.
	Address string `json:"address"`
}

// ClusterInvite asks it for a code.
type ClusterInvite struct {
	Good int64 `json:"good_s,omitzero"` // for how long it can be used, in seconds; default 30 minutes, at most a day
}

// ClusterInvited answers it.
type ClusterInvited struct {
	Address string    `json:"address"` // where the other machine asks
	Code    string    `json:"code"`    // shown only here
	Expires mail.Time `json:"expires"`
}

// ClusterRemove asks it to take a machine out; without a name, this one.
type ClusterRemove struct {
	Machine mail.Machine `json:"machine"`
}

// ClusterStatus is how a cluster is, as one of its machines sees it.
type ClusterStatus struct {
	Machine mail.Machine    `json:"machine"` // that says so
	Members []ClusterMember `json:"members"` // by name
	// Replicas is on how many servers each room is to be, Streams how many streams there are, and Lacking how many of
	// them are not on as many servers, or not as far there, yet.
	Replicas int `json:"replicas"`
	Streams  int `json:"streams"`
	Lacking  int `json:"lacking"`
	// MayFail is how many more servers may fail before mail stops somewhere; negative: it has. Nil: it is not known.
	MayFail *int   `json:"may_fail,omitempty"`
	Trouble string `json:"trouble,omitempty"` // why not all of this is known
}

// ClusterMember is a machine of a cluster.
type ClusterMember struct {
	Machine mail.Machine `json:"machine"`
	Address string       `json:"address"`
	Up      bool         `json:"up"`
	Version string       `json:"version,omitempty"` // of its server
	Streams int          `json:"streams"`           // that are on it
}

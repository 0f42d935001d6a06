package natsd

import (
	"encoding/json"

	"pennypost/internal/base/raftlog"
)

// answerLogs answers which messages are in the Raft logs of this server: post offices want to know whether an erased
// text is gone. A server that cannot look does not answer, and then the text counts as still there.
func (d *daemon) answerLogs(msg *natsMsg) {
	var q raftlog.Question
	if json.Unmarshal(msg.Data, &q) != nil || len(q.IDs) > raftlog.MaxMessages {
		return
	}
	found, err := raftlog.Search(d.home.Servers(), q.IDs)
	if err != nil {
		d.log.Warn("server log cannot be searched for erased messages", "err", err)
		return
	}
	if text, err := json.Marshal(raftlog.Answer{Server: d.node.server.Name(), Found: found}); err == nil {
		_ = msg.Respond(text)
	}
}

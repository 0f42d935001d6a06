package natsd

import (
	"encoding/json"

	"pennypost/internal/base/natsfiles"
)

// answerFiles answers which messages are in the files of this server: post offices want to know whether an erased text
// is gone. A server that cannot look does not answer, and then the text counts as still there.
func (d *daemon) answerFiles(msg *natsMsg) {
	var q natsfiles.Question
	if json.Unmarshal(msg.Data, &q) != nil || len(q.IDs) > natsfiles.MaxMessages {
		return
	}
	found, err := natsfiles.Search(d.home.Servers(), q.IDs)
	if err != nil {
		d.log.Warn("the server's files cannot be searched for erased messages", "err", err)
		return
	}
	if text, err := json.Marshal(natsfiles.Answer{Server: d.node.server.Name(), Found: found}); err == nil {
		_ = msg.Respond(text)
	}
}

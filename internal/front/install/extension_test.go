package install

import (
	"os/exec"
	"strings"
	"testing"
)

// If the process cannot be started, the client, in whose process an extension runs, sees no failure of ours.
func TestExtensionCannotStart(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip(err)
	}
	cmd := exec.Command(node, "--input-type=module", "-")
	cmd.Stdin = strings.NewReader(extensionHead(newPlace(t).options(User), "opencode") + "\n" +
		extensionText("common") + `
const session = new Session("s1", "a\0b") // a directory in which node starts nothing
const over = session.ask("permission.asked", {}, () => true)
await new Promise(setImmediate)
await over("permission.replied", "once")
await session.end("dispose")
if (session.asking.size) throw new Error("what has not begun is waited for")
`)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

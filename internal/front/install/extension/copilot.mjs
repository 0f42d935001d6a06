import { spawn } from "node:child_process"
import { createInterface } from "node:readline"
import { joinSession } from "@github/copilot-sdk/extension"

// Each line of the monitor, which says that an idle agent has mail, becomes a prompt of the session. The monitor ends
// with this process, as nobody reads it then.
const session = await joinSession({})
const env = { ...process.env, COPILOT_AGENT_SESSION_ID: session.sessionId }
const monitor = spawn(program, ["monitor", ...named], { env, stdio: ["ignore", "pipe", "ignore"] })
monitor.on("error", () => {}) // there is no pennypost any more
createInterface({ input: monitor.stdout }).on("line", (prompt) => session.send({ prompt }).catch(() => {}))

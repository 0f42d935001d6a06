
import { createInterface } from "node:readline"
import { joinSession } from "@github/copilot-sdk/extension"

// An extension with a handler may answer Copilot's dialogs, once the person has allowed it at the start. This handler
// leaves each request to Copilot's own dialog, until the person answers at the desk.
const handler = { onPermissionRequest: () => ({ kind: "no-result" }) }
const session = await joinSession(dialogs ? handler : {}).catch(() => joinSession({}))

// Each line of the monitor, which says that an idle agent has mail, becomes a prompt of the session. The monitor ends
// with this process, its only reader.
const env = { ...process.env, COPILOT_AGENT_SESSION_ID: session.sessionId }
const monitor = spawn(program, ["monitor", ...named], { env, stdio: ["ignore", "pipe", "ignore"] })
monitor.on("error", () => {}) // pennypost is no longer installed
createInterface({ input: monitor.stdout }).on("line", (prompt) => session.send({ prompt }).catch(() => {}))

// use returns a request's subject in the form that Copilot's hooks get.
function use(r) {
  const { kind, toolCallId, ...rest } = r
  if (kind === "shell") {
    const bypass = r.requestSandboxBypass || undefined
    return ["bash", { command: r.fullCommandText, requestSandboxBypass: bypass }, r.intention]
  }
  if (kind === "write") return ["edit", { file_path: r.fileName, diff: r.diff }, r.intention]
  if (kind === "mcp") return [`${r.serverName}/${r.toolName}`, r.args ?? {}]
  if (kind === "url") return ["web_fetch", { url: r.url }, r.intention]
  return [kind, rest]
}

if (dialogs) {
  const ours = new Session(session.sessionId, process.cwd())
  const open = new Map() // functions that take a dialog off the desk, by request id

  // ask shows a dialog at the desk as well as at Copilot; the first answer wins.
  const ask = (kind, { requestId }, reply, tool, given, says) => {
    const dialog = { id: requestId, tool, given, says }
    open.set(requestId, ours.ask(kind + ".asked", { dialog }, async (result) => (await reply(result)).success))
  }
  const over = (kind, { requestId }, reply) => {
    open.get(requestId)?.(kind + ".replied", reply)
    open.delete(requestId)
  }

  session.on("permission.requested", ({ data }) => {
    const { requestId, permissionRequest: r } = data
    if (data.resolvedByHook || r.kind.startsWith("extension-")) return // about an extension, perhaps this one
    const answer = (result) => session.rpc.permissions.handlePendingPermissionRequest({ requestId, result })
    ask("permission", data, answer, ...use(r))
  })
  session.on("permission.completed", ({ data }) => over("permission", data, data.result.kind.split("-")[0]))
  session.on("elicitation.requested", ({ data }) => {
    const { requestId, message, requestedSchema, toolCallId } = data
    if (!toolCallId || !requestedSchema) return
    const answer = (result) => session.rpc.ui.handlePendingElicitation({ requestId, result })
    ask("question", data, answer, "ask_user", { message, requestedSchema })
  })
  session.on("elicitation.completed", ({ data }) => over("question", data, data.action))
}

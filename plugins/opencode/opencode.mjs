// Pennypost's plugin for opencode. The program pennypost must be on the PATH.
const program = "pennypost"
const client = "opencode"
const named = []
const tools = [
  {
    "name": "send_message",
    "description": "Send a message. Returns its id and, per recipient, its state and whether and how they will be woken.",
    "inputSchema": {
      "type": "object",
      "required": [
        "to",
        "body"
      ],
      "additionalProperties": false,
      "properties": {
        "to": {
          "type": [
            "string",
            "array"
          ],
          "items": {
            "type": "string"
          },
          "description": "address or list: agent name, role:R, tag, orchestrator, user, all"
        },
        "body": {
          "type": "string",
          "description": "Markdown, at most 64 KiB"
        },
        "type": {
          "enum": [
            "task-assigned",
            "task-done",
            "review-request",
            "review-result",
            "question",
            "answer",
            "cancel",
            "status",
            "custom"
          ]
        },
        "subject": {
          "type": "string"
        },
        "reply_to": {
          "type": "string",
          "description": "id of the message answered"
        },
        "priority": {
          "enum": [
            "normal",
            "urgent"
          ]
        },
        "issue_id": {
          "type": "string"
        },
        "metadata": {
          "type": "object",
          "description": "review-result: verdict approved|changes-requested|blocked; question to user: options; answer: declined to refuse one"
        },
        "docs": {
          "type": "array",
          "items": {
            "type": "string"
          },
          "description": "paths of documents"
        },
        "ttl_hours": {
          "type": "number"
        },
        "at": {
          "type": "string",
          "description": "send it later: RFC 3339 time, or 2h; to yourself with reply_to: a reminder"
        },
        "key": {
          "type": "string",
          "description": "idempotency key"
        }
      }
    }
  },
  {
    "name": "read_messages",
    "description": "Read unread mail, oldest first; mail already given in this session is only named. With id, thread, since, to or query, also read mail. Marks nothing.",
    "inputSchema": {
      "type": "object",
      "additionalProperties": false,
      "properties": {
        "id": {
          "type": "string"
        },
        "offset": {
          "type": "integer",
          "description": "with id: byte of the text to start at"
        },
        "thread": {
          "type": "string"
        },
        "since": {
          "type": "string",
          "description": "RFC 3339 time"
        },
        "to": {
          "type": "string",
          "description": "only mail to this address"
        },
        "query": {
          "type": "string",
          "description": "words or \"phrases\" to find"
        },
        "after": {
          "type": "integer"
        },
        "before": {
          "type": "integer",
          "description": "from an answer"
        },
        "limit": {
          "type": "integer"
        }
      }
    }
  },
  {
    "name": "mark_messages",
    "description": "Mark your mail. Give ids, or all.",
    "inputSchema": {
      "type": "object",
      "additionalProperties": false,
      "properties": {
        "ids": {
          "type": "array",
          "items": {
            "type": "string"
          }
        },
        "all": {
          "type": "boolean"
        },
        "mark": {
          "enum": [
            "read",
            "unread",
            "archived",
            "unarchived"
          ],
          "default": "read"
        }
      }
    }
  },
  {
    "name": "wait_for_messages",
    "description": "Wait for unread mail that you were not shown, then return the first. Marks nothing.",
    "inputSchema": {
      "type": "object",
      "additionalProperties": false,
      "properties": {
        "types": {
          "type": "array",
          "items": {
            "enum": [
              "task-assigned",
              "task-done",
              "review-request",
              "review-result",
              "question",
              "answer",
              "cancel",
              "status",
              "custom"
            ]
          }
        },
        "reply_to": {
          "type": "string",
          "description": "only an answer to this id"
        },
        "after": {
          "type": "integer"
        },
        "timeout_seconds": {
          "type": "number",
          "description": "default 600, at most 86400"
        }
      }
    }
  },
  {
    "name": "list_agents",
    "description": "List agents, live ones first: roles, tags, state, task, last seen, unread.",
    "inputSchema": {
      "type": "object",
      "additionalProperties": false,
      "properties": {
        "role": {
          "type": "string"
        },
        "state": {
          "enum": [
            "working",
            "asking",
            "idle",
            "frozen",
            "gone"
          ]
        },
        "query": {
          "type": "string",
          "description": "text in name, roles, tags or task"
        },
        "after": {
          "type": "string",
          "description": "next of a page"
        },
        "limit": {
          "type": "integer"
        }
      }
    }
  },
  {
    "name": "set_presence",
    "description": "Say who you are and what you do. Omitted fields stay.",
    "inputSchema": {
      "type": "object",
      "additionalProperties": false,
      "properties": {
        "name": {
          "type": "string",
          "description": "new name for you"
        },
        "roles": {
          "type": "array",
          "items": {
            "type": "string"
          }
        },
        "tags": {
          "type": "array",
          "items": {
            "type": "string"
          },
          "description": "project:x, concern:x, domain:x"
        },
        "task": {
          "type": "string"
        },
        "claim": {
          "type": "array",
          "items": {
            "type": "string"
          },
          "description": "paths, port:N or names that only you may write or use now"
        },
        "release": {
          "type": "array",
          "items": {
            "type": "string"
          }
        },
        "state": {
          "enum": [
            "working",
            "idle",
            "frozen",
            "gone"
          ]
        }
      }
    }
  }
]
import { spawn } from "node:child_process"

const environment = { ...process.env } // of this program, before any change below
const started = new Set() // processes that end with this program
process.on("exit", () => started.forEach((child) => child.kill()))

// run starts pennypost and resolves when it has ended, even if it fails, without reporting that. take receives the line
// that pennypost prints; its result is written to pennypost.
function run(args, cwd, input, take) {
  let child
  const ended = new Promise((done) => {
    let out = "", err = ""
    const end = (code) => (started.delete(child), done({ code, out, err: err.trim() }))
    child = spawn(program, args, { cwd, env: environment, stdio: ["pipe", "pipe", "pipe"] })
    started.add(child)
    child.stdout.setEncoding("utf8")
    child.stdout.on("data", async (text) => {
      out += text
      if (!take || !out.endsWith("\n")) return
      const last = take
      take = undefined
      child.stdin.end(JSON.stringify((await last(out)) ?? {}))
    })
    child.stderr.on("data", (text) => (err += text))
    child.on("error", () => end(-1))
    child.on("close", end)
    child.stdin.on("error", () => {})
    child.stdin.write(JSON.stringify(input) + "\n")
    if (!take) child.stdin.end()
  })
  return { child, ended }
}

// quiet returns a handler that keeps its failures to itself: the client would take them for its own.
function quiet(handler) {
  return async (...args) => {
    try {
      return await handler(...args)
    } catch {}
  }
}

// Session is a session of the client, and its agent.
class Session {
  constructor(id, cwd, wake) {
    Object.assign(this, { id, cwd, wake, asking: new Set() })
  }

  // hook reports an event to the post office, and returns what to do: agent, tell, goOn, forbid.
  async hook(event, more = {}) {
    const input = { hook_event_name: event, session_id: this.id, cwd: this.cwd, transcript_path: this.transcript, ...more }
    let answer = {}
    try {
      const { out } = await run(["hook", client, event, ...named], this.cwd, input).ended
      answer = JSON.parse(out)
    } catch {} // no post office, or pennypost was removed
    this.agent = answer.agent ?? this.agent
    return answer
  }

  // wait wakes the session when mail arrives while it is idle. One process waits through all of its turns.
  wait = quiet(async (event) => {
    if (this.waiting || this.ended) return
    const began = Date.now()
    const input = { hook_event_name: event, session_id: this.id, cwd: this.cwd }
    const { child, ended } = run(["hook", client, "wait", ...named], this.cwd, input)
    this.waiting = child
    const { code, err } = await ended
    this.waiting = undefined
    if (code === 2) await this.wake(err)
    else if (Date.now() - began > 3600e3) await this.wait(event) // the wait has timed out, but the session continues
  })

  // ask shows a dialog of the client at the person's desk, until it is answered there and reply has passed the answer to
  // the client, or until the returned function is called with the answer that was given at the client.
  ask(event, more, reply) {
    let taken
    const take = quiet((out) => (taken = quiet(reply)(JSON.parse(out)).then((ok) => ({ taken: ok === true }))))
    const input = { hook_event_name: event, session_id: this.id, cwd: this.cwd, ...more }
    const { child, ended } = run(["hook", client, event, ...named], this.cwd, input, take)
    this.asking.add(child)
    ended.catch(() => {}).then(() => this.asking.delete(child)) // it fails if no process can be started
    return quiet(async (event, reply) => {
      if ((await taken)?.taken) return // it was answered at the desk
      await this.hook(event, { ...more, reply })
      child.kill()
    })
  }

  // call calls a tool as the session's agent.
  async call(tool, args, signal) {
    this.tools ??= new Tools(this.agent ? ["--as", this.agent] : named, this.cwd, () => (this.tools = undefined))
    return this.tools.call(tool, args, signal)
  }

  // end ends the session and its processes.
  async end(event, more) {
    this.ended = true
    this.waiting?.kill()
    for (const child of this.asking) child.kill()
    this.tools?.close()
    await this.hook(event, more)
  }
}

// Tools is a running pennypost mcp.
class Tools {
  constructor(as, cwd, gone) {
    this.calls = new Map()
    this.last = 0
    this.child = spawn(program, ["mcp", ...as], { cwd, env: environment, stdio: ["pipe", "pipe", "pipe"] })
    started.add(this.child)
    let rest = "", said = ""
    const end = () => {
      started.delete(this.child)
      gone()
      for (const { fail } of this.calls.values()) fail(new Error(said.trim() || "pennypost has ended"))
      this.calls.clear()
    }
    this.child.stderr.on("data", (text) => (said = (said + text).slice(-2000)))
    this.child.on("error", (err) => ((said = String(err)), end()))
    this.child.on("close", end)
    this.child.stdin.on("error", () => {})
    this.child.stdout.setEncoding("utf8")
    this.child.stdout.on("data", (text) => {
      const lines = (rest + text).split("\n")
      rest = lines.pop()
      for (const line of lines) this.answered(JSON.parse(line))
    })
    const clientInfo = { name: client, version: "1" }
    this.ready = this.ask("initialize", { protocolVersion: "2025-06-18", capabilities: {}, clientInfo })
    this.ready.then(() => this.send({ method: "notifications/initialized" }), () => {})
  }

  send(message) {
    this.child.stdin.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\n")
  }

  ask(method, params, signal) {
    const id = ++this.last
    return new Promise((done, fail) => {
      this.calls.set(id, { done, fail })
      this.send({ id, method, params })
      signal?.addEventListener("abort", () => {
        if (!this.calls.delete(id)) return
        this.send({ method: "notifications/cancelled", params: { requestId: id } })
        fail(new Error("aborted"))
      })
    })
  }

  answered({ id, result, error }) {
    const call = this.calls.get(id)
    this.calls.delete(id)
    if (error) call?.fail(new Error(error.message))
    else call?.done(result)
  }

  async call(name, args, signal) {
    await this.ready
    const { content, isError } = await this.ask("tools/call", { name, arguments: args }, signal)
    const text = content.map((c) => c.text ?? "").join("\n")
    if (isError) throw new Error(text)
    return text
  }

  close() {
    this.child.stdin.end() // it signs off, and ends
  }
}

// opencode's plugin. opencode.ai/docs/plugins describes its arguments.
export const Pennypost = async ({ client: opencode, directory }) => {
  // It may be installed both as a plugin and by pennypost install: one is enough.
  if ((globalThis.pennypost ??= Session) !== Session) return {}
  const sessions = new Map() // by id, without those of subagents
  const parents = new Map() // of sessions: an id, or "" for none
  const titles = new Map() // of sessions that began here
  const uses = new Map() // arguments of running tools, by session and use
  const dialogs = new Map() // open ones, by the ids of their requests
  const headless = process.argv[2] === "run"

  // root returns the session that a session was started for, usually itself.
  async function root(id) {
    for (;;) {
      if (!parents.has(id)) {
        const { data } = await opencode.session.get({ path: { id } }).catch(() => ({}))
        parents.set(id, data?.parentID ?? "")
      }
      if (!parents.get(id)) return id
      id = parents.get(id)
    }
  }

  // meet returns the session with an id. The first call reports its start to the post office.
  function meet(id) {
    let session = sessions.get(id)
    if (!session) {
      session = new Session(id, directory, (text) => prompt(session, text))
      session.start = conversation(id).then((conversation) => session.hook("SessionStart", { conversation }))
      sessions.set(id, session)
    }
    return session
  }

  // conversation returns the texts with mail that the next request of a session holds, or undefined.
  async function conversation(id) {
    const { data } = await opencode.session.messages({ path: { id } }).catch(() => ({}))
    const texts = data?.flatMap(({ parts }) => parts.map((p) => p.text ?? p.state?.output))
    return texts?.filter((text) => typeof text === "string" && text.includes("<mail-")).join("\n")
  }

  // prompt continues a session with the agent and the model that the person used last. It reports whether that
  // succeeded.
  async function prompt(session, text, more) {
    try {
      const body = { ...session.as, ...more, parts: [{ type: "text", text }] }
      const request = { path: { id: session.id }, body }
      const { error } = more ? await opencode.session.prompt(request) : await opencode.session.promptAsync(request)
      return !error
    } catch {
      return false
    }
  }

  // ask shows a dialog at the desk as well as at opencode; the first answer wins.
  const ask = quiet(async (kind, p) => {
    const callID = p.tool?.callID
    const id = await root(p.sessionID)
    const more = { dialog: { ...p, input: uses.get(p.sessionID + callID)?.args }, tool_use_id: callID }
    if (id !== p.sessionID) Object.assign(more, { agent_id: p.sessionID, agent_type: titles.get(p.sessionID) })
    return meet(id).ask(kind + ".asked", more, async (answer) => {
      const [[verb, body]] = Object.entries(answer)
      const headers = { "Content-Type": "application/json" }
      const { error } = await opencode._client.post({ url: `/${kind}/${p.id}/${verb}`, body, headers })
      return !error // otherwise it was answered at opencode
    })
  })

  // answered takes a dialog that was answered at opencode off the desk.
  const answered = quiet(async (request, event, reply) => {
    const dialog = dialogs.get(request)
    dialogs.delete(request)
    await (await dialog?.over)?.(event, reply)
  })

  // forget drops the remains of an idle session: an interrupted dialog, the use of a tool that failed.
  function forget(sessionID) {
    for (const [key, use] of uses) if (use.sessionID === sessionID) uses.delete(key)
    for (const [id, dialog] of dialogs)
      if (dialog.sessionID === sessionID) answered(id, dialog.kind + ".replied")
  }

  return {
    "chat.message": quiet(async ({ sessionID, variant }, { message, parts }) => {
      if ((await root(sessionID)) !== sessionID) return
      const session = meet(sessionID)
      session.as = { agent: message.agent, model: message.model, variant }
      const { busy, start } = session
      session.start = undefined
      const texts = [(await start)?.tell]
      const said = parts.find((p) => p.type === "text")?.text
      texts.push((await session.hook("chat.message", { busy, prompt: said })).tell)
      const last = parts.at(-1)?.id ?? "prt_00"
      const more = { sessionID, messageID: message.id, type: "text", synthetic: true }
      for (const [i, text] of texts.entries()) if (text) parts.push({ ...more, id: last.slice(0, -2) + "z" + i, text })
    }),
    "tool.execute.before": async ({ tool, sessionID, callID }, { args }) => {
      uses.set(sessionID + callID, { sessionID, args })
      const id = await root(sessionID)
      const sub = id === sessionID ? undefined : sessionID
      const more = { tool_name: tool, tool_input: args, tool_use_id: callID, agent_id: sub }
      const { forbid } = await meet(id).hook("tool.execute.before", more)
      if (forbid) throw new Error(forbid)
    },
    "tool.execute.after": quiet(async ({ tool, sessionID, callID }, output) => {
      uses.delete(sessionID + callID)
      if ((await root(sessionID)) !== sessionID || !meet(sessionID).busy) return // an interrupted turn is over
      const { tell } = await meet(sessionID).hook("tool.execute.after", { tool_name: tool, tool_use_id: callID })
      if (tell && typeof output?.output === "string") output.output += "\n\n" + tell
      else if (tell) output?.content?.push({ type: "text", text: tell })
    }),
    "experimental.text.complete": quiet(async ({ sessionID }) => {
      if ((await root(sessionID)) !== sessionID) return
      const session = meet(sessionID)
      const { tell } = await session.hook("experimental.text.complete")
      // the turn has not ended yet, and continues with it
      if (tell && !(await prompt(session, tell, { noReply: true }))) session.error = "not told"
    }),
    "shell.env": quiet(async ({ sessionID }, { env }) => {
      const agent = sessionID && sessions.get(await root(sessionID))?.agent
      if (agent) env.PENNYPOST_AGENT = agent
    }),
    event: quiet(async ({ event: { type, properties: p } }) => {
      if (type === "session.created") {
        parents.set(p.info.id, p.info.parentID ?? "")
        titles.set(p.info.id, p.info.title)
      }
      const [, kind, how] = type.match(/^(permission|question)\.(asked|replied|rejected)$/) ?? []
      if (how === "asked" && !headless) dialogs.set(p.id, { kind, sessionID: p.sessionID, over: ask(kind, p) })
      else if (how) answered(p.requestID, type, p.reply ?? (how === "replied" ? "answered" : "reject"))
      if (type === "session.idle") forget(p.sessionID)
      const session = sessions.get(p?.sessionID ?? p?.info?.id)
      if (!session) return
      if (type === "session.status") session.busy = p.status.type !== "idle"
      session.works ||= session.busy
      if (type === "session.error") session.error = p.error?.name ?? "error"
      if (type === "session.deleted") {
        sessions.delete(session.id)
        await session.end(type)
      }
      if (type !== "session.idle" || !session.works) return // it comes twice after an interrupted turn
      session.works = false
      const { error } = session
      session.error = undefined
      const { goOn } = await session.hook(type, { error, conversation: error && (await conversation(session.id)) })
      if (goOn && (await prompt(session, goOn))) return
      if (goOn) await session.hook(type, { error: "not told" })
      if (!headless) session.wait(type)
    }),
    dispose: quiet(() => Promise.all([...sessions.values()].map((session) => session.end("dispose")))),
    tool: Object.fromEntries(
      tools.map(({ name, description, inputSchema }) => [
        "pennypost_" + name,
        {
          description,
          args: inputSchema.properties,
          execute: async (args, { sessionID, abort }) => meet(await root(sessionID)).call(name, args, abort),
        },
      ]),
    ),
    // opencode treats all arguments of a plugin's tool as required
    "tool.definition": async ({ toolID }, output) => {
      const tool = tools.find(({ name }) => "pennypost_" + name === toolID)
      if (tool) output.jsonSchema = tool.inputSchema
    },
  }
}


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

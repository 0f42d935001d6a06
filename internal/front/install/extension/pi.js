
// pi's extension. docs/extensions.md of @mariozechner/pi-coding-agent describes its arguments.
export default function (pi) {
  let session // pi's current one; a new one loads the extension again
  let turn, over, unheard // a promise while pi works; resolves it; a timer that does if pi does not continue
  let stopped // a signal ended a session without a user interface

  pi.on("session_start", quiet(async (_, ctx) => {
    const wake = (text) => pi.sendUserMessage(text, { deliverAs: "followUp" })
    session = new Session(ctx.sessionManager.getSessionId(), ctx.cwd, wake)
    session.transcript = ctx.sessionManager.getSessionFile?.()
    session.start = await session.hook("SessionStart")
    if (session.agent) process.env.PENNYPOST_AGENT = session.agent // for the commands that it runs
    if (ctx.hasUI) session.wait("agent_end")
    else for (const signal of ["SIGTERM", "SIGHUP"]) process.once(signal, () => (stopped = true, over?.()))
  }))
  pi.on("before_agent_start", quiet(async ({ prompt }) => {
    const texts = [session.start?.tell, (await session.hook("before_agent_start", { prompt })).tell]
    session.start = undefined
    const content = texts.filter(Boolean).join("\n\n")
    if (content) return { message: { customType: "pennypost", content, display: true } }
  }))
  pi.on("tool_call", quiet(async ({ toolName, input }) => {
    const { forbid } = await session.hook("tool_call", { tool_name: toolName, tool_input: input })
    if (forbid) return { block: true, reason: forbid }
  }))
  pi.on("tool_result", quiet(async ({ toolName, content }, ctx) => {
    const { tell } = await session.hook("tool_result", { tool_name: toolName, aborted: ctx.signal?.aborted })
    if (tell) return { content: [...content, { type: "text", text: tell }] }
  }))
  pi.on("agent_start", () => {
    clearTimeout(unheard)
    turn ??= new Promise((done) => (over = done))
  })
  pi.on("agent_end", quiet(async ({ messages }, ctx) => {
    const reason = messages.findLast((m) => m.role === "assistant")?.stopReason
    const error = reason === "aborted" || reason === "error" ? reason : undefined
    const { goOn } = await session.hook("agent_end", { error })
    if (goOn) {
      unheard = setTimeout(() => over(), 5000)
      pi.sendUserMessage(goOn, { deliverAs: "followUp" })
      return
    }
    over()
    turn = undefined
    if (ctx.hasUI) session.wait("agent_end")
  }))
  pi.on("session_shutdown", quiet(async ({ reason }, ctx) => {
    if (!ctx.hasUI && !stopped) await turn // pi -p would end while mail keeps its turn going
    if (environment.PENNYPOST_AGENT) process.env.PENNYPOST_AGENT = environment.PENNYPOST_AGENT
    else delete process.env.PENNYPOST_AGENT
    await session?.end("session_shutdown", { reason })
  }))

  for (const { name, description, inputSchema } of tools)
    pi.registerTool({
      name: "pennypost_" + name,
      label: "Pennypost: " + name,
      description,
      parameters: inputSchema,
      execute: async (_, args, signal) => ({
        content: [{ type: "text", text: await session.call(name, args, signal) }],
        details: {},
      }),
    })
}

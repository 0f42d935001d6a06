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

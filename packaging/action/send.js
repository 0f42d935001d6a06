// Sends one message, as action.yml says. Nothing of it goes through a shell, and the token is in no output.
"use strict";
const { appendFileSync } = require("node:fs");

const input = (name) => (process.env[`INPUT_${name.toUpperCase()}`] ?? "").trim();

function fail(text) {
  console.log(`::error::${text.replace(/%/g, "%25").replace(/\r/g, "%0D").replace(/\n/g, "%0A")}`);
  process.exitCode = 1;
}

function address() {
  const url = new URL(`api/v1/rooms/${encodeURIComponent(input("room"))}/messages`, input("url").replace(/\/*$/, "/"));
  const loopback = ["127.0.0.1", "[::1]", "localhost"].includes(url.hostname);
  if (url.protocol !== "https:" && !(url.protocol === "http:" && loopback)) {
    throw new Error(`${url.origin} is no https address: others could read the token on its way`);
  }
  return url;
}

async function send() {
  for (const name of ["url", "token", "room", "to", "text"]) {
    if (!input(name)) throw new Error(`the input ${name} is missing`);
  }
  const draft = { to: input("to").split(/[\s,]+/).filter(Boolean), body: input("text"), type: input("type") || "status" };
  if (input("subject")) draft.subject = input("subject");
  draft.key = input("key") || ["GITHUB_REPOSITORY", "GITHUB_RUN_ID", "GITHUB_RUN_ATTEMPT", "GITHUB_ACTION"]
    .map((name) => process.env[name] ?? "").join(" ");
  const answer = await fetch(address(), {
    method: "POST",
    redirect: "error",
    headers: { "Authorization": `Bearer ${input("token")}`, "Content-Type": "application/json" },
    body: JSON.stringify(draft),
    signal: AbortSignal.timeout(30_000),
  });
  const said = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Error(said.detail ?? said.title ?? `the post office answers ${answer.status}`);
  for (const r of said.recipients ?? []) console.log(`${r.address}: ${r.state}`);
  if (process.env.GITHUB_OUTPUT) appendFileSync(process.env.GITHUB_OUTPUT, `id=${said.id}\n`);
}

send().catch((err) => fail(err.cause ? `${err.message}: ${err.cause.message}` : err.message));

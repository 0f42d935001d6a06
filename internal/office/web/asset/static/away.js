// While the post office is away, messages and answers wait and are sent when it is back; any other action is refused with a message.
import { composed, recompose } from "./compose.js";
import { sent } from "./dialogs.js";
import { keep, restore, takeOver, written } from "./drafts.js";
import { ask, office } from "./live.js";

let waiting = []; // unsent acts in order, as submitted; stored to outlive the tab
const toasts = new Map(); // by waiting act
const wait = (acts) => { waiting = acts; keep("waiting", acts.length && acts); };

for (const event of ["pp-away", "pp-back"]) document.addEventListener(event, label);
document.addEventListener("pp-back", () => sendAll());
label();

function label() {
  for (const button of document.querySelectorAll("form:has(> [name=key]) .primary")) button.textContent = office.since ? "Send when back" : "Send";
}

// A failed request is the first sign.
document.addEventListener("htmx:error", ({ detail: { ctx, error } }) => {
  if (!ctx || !(error instanceof TypeError)) return; // fetch reports network errors as TypeError
  ask().then(sendAll);
  const { form, body, submitter, action, method } = ctx.request;
  const pressed = method === "POST" ? !action.includes("/opened") : ["click", "submit", "change"].includes(ctx.sourceEvent?.type);
  if (!pressed || ctx.sourceElement.matches(".waiting")) return; // the page's own request, or an act still waiting
  const fields = method === "POST" ? [...(body instanceof FormData || body instanceof URLSearchParams ? body : new FormData(form, submitter))] : [];
  if (action.endsWith("/answer") || fields.some(([name]) => name === "key") && !action.endsWith("/undo")) { // the key makes retries safe
    const text = form?.matches("[data-reset]") && (composed(form) || written(form));
    const { key, reply_to } = Object.fromEntries(fields);
    const act = { action, fields, text, key: key ?? `choice-${reply_to}`, says: said(fields, submitter) };
    for (const earlier of waiting.filter((a) => a.key === act.key)) done(earlier); // another choice for the same question
    wait([...waiting, act]);
    if (text) sent(form); // further typing begins a new text
    waits(act);
    return;
  }
  tell(method === "POST" ? "Not done: the post office is offline. Try again when it is back." : "The post office is offline, so this cannot be shown now.");
});

// said describes an act in a few words.
function said(fields, submitter) {
  const { body, n } = Object.fromEntries(fields);
  if (body) return `“${body.length > 60 ? `${body.slice(0, 60)}…` : body}”`;
  return n ? `answer ${n}` : submitter?.textContent.trim() || "your action";
}

// waits shows a waiting act with a button to undo it.
function waits(act) {
  const toast = tell(`Waiting for the post office: ${act.says}. It is sent when that is back.`, 2e9);
  const button = Object.assign(document.createElement("button"), { type: "button", textContent: "Undo " });
  button.dataset.key = "z";
  button.append(Object.assign(document.createElement("kbd"), { textContent: "z", ariaHidden: "true" }));
  button.addEventListener("click", () => { done(act); takeBack(act); tell(act.text ? "Not sent. The text is kept where you wrote it." : "Not sent."); });
  toast.append(button);
  toasts.set(act, toast);
}

function done(act) {
  wait(waiting.filter((a) => a !== act));
  toasts.get(act)?.remove();
}

function takeBack({ text }) {
  if (!text) return;
  keep(text.name, text.value, true);
  restore(true);
  recompose();
}

let sending; // one at a time

async function sendAll() {
  if (sending || office.since || !waiting.length) return;
  sending = true;
  for (const act of [...waiting]) if (waiting.includes(act) && !await send(act)) break;
  sending = false;
  if (waiting.length) setTimeout(sendAll, 5_000);
}

// send sends a waiting act, and reports whether it got a response. A refusal restores its text.
async function send(act) {
  const form = Object.assign(document.createElement("form"), { hidden: true, className: "waiting" });
  for (const [name, value] of [...act.fields, ["waited", "1"]]) form.append(Object.assign(document.createElement("input"), { type: "hidden", name, value }));
  document.body.append(form);
  let status = 0;
  form.addEventListener("htmx:after:request", ({ detail: { ctx } }) => { status = ctx.response.status; });
  await htmx.ajax("POST", act.action, { source: form, target: "#toasts", swap: "beforeend" });
  form.remove();
  if (!status || status === 401 || status >= 500) return false;
  done(act);
  if (status >= 400) takeBack(act);
  return true;
}

// Links and forms that would leave the page are blocked, since no other page would load.
for (const kind of ["click", "submit"]) {
  document.addEventListener(kind, (e) => {
    const el = e.target.closest?.(kind === "click" ? "a[href]" : "form");
    if (!office.since || !el || el.matches("[hx-get], [hx-post], [target], [download], [href^='#']") || e.ctrlKey || e.metaKey || e.defaultPrevented) return;
    e.preventDefault();
    tell("The post office is offline, so this page stays.");
  }, true);
}

function tell(text, ms = 8_000) {
  const toast = Object.assign(document.createElement("div"), { className: "toast", textContent: text });
  toast.dataset.ms = ms;
  document.getElementById("toasts").append(toast);
  return toast;
}

// A new version of the post office has new pages. Reload, but not while the person is writing.
let renewing; // the timer of the next attempt
document.addEventListener("pp-renewed", renew);
function renew() {
  clearTimeout(renewing);
  const written = [...document.querySelectorAll("main textarea, dialog textarea")].some((t) => t.value !== t.defaultValue);
  if (written || sending) { renewing = setTimeout(renew, 2_000); return; }
  location.reload();
}

// Send what closed tabs have left.
takeOver("waiting").then((left) => {
  wait([...waiting, ...left.flat()]);
  sendAll();
});

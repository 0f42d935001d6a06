// What the page does while the post office is away: what is sent waits and leaves when the post office is back, and everything else that is pressed is refused in words.
import { composed, recompose } from "./compose.js";
import { sent } from "./dialogs.js";
import { keep, restore, takeOver, written } from "./drafts.js";
import { ask, office } from "./live.js";

let waiting = []; // what could not leave, in its order: as it stood when it was sent. It outlives the tab.
const toasts = new Map(); // of the acts that wait
const wait = (acts) => { waiting = acts; keep("waiting", acts.length && acts); };

for (const event of ["pp-away", "pp-back"]) document.addEventListener(event, label);
document.addEventListener("pp-back", () => sendAll());
label();

function label() {
  for (const button of document.querySelectorAll("form:has(> [name=key]) .primary")) button.textContent = office.since ? "Send when back" : "Send";
}

// A request that did not get through is the first to notice.
document.addEventListener("htmx:error", ({ detail: { ctx, error } }) => {
  if (!ctx || !(error instanceof TypeError)) return; // TypeError is what fetch says of a network
  ask().then(sendAll);
  const { form, body, submitter, action, method } = ctx.request;
  const pressed = method === "POST" ? !action.includes("/opened") : ["click", "submit", "change"].includes(ctx.sourceEvent?.type);
  if (!pressed || ctx.sourceElement.matches(".waiting")) return; // the page asked by itself, or it waits still
  const fields = method === "POST" ? [...(body instanceof FormData || body instanceof URLSearchParams ? body : new FormData(form, submitter))] : [];
  if (action.endsWith("/answer") || fields.some(([name]) => name === "key") && !action.endsWith("/undo")) { // which makes it one act, however often it is sent
    const text = form?.matches("[data-reset]") && (composed(form) || written(form));
    const { key, reply_to } = Object.fromEntries(fields);
    const act = { action, fields, text, key: key ?? `choice-${reply_to}`, says: said(fields, submitter) };
    for (const earlier of waiting.filter((a) => a.key === act.key)) done(earlier); // another choice for the same question
    wait([...waiting, act]);
    if (text) sent(form); // what is typed now is something else
    waits(act);
    return;
  }
  tell(method === "POST" ? "Not done: the post office is away. Press it again when it is back." : "The post office is away, so this cannot be shown now.");
});

// said is what an act says, in a few words.
function said(fields, submitter) {
  const { body, n } = Object.fromEntries(fields);
  if (body) return `“${body.length > 60 ? `${body.slice(0, 60)}…` : body}”`;
  return n ? `answer ${n}` : submitter?.textContent.trim() || "what you pressed";
}

// waits shows an act that waits, and lets it be taken back.
function waits(act) {
  const toast = tell(`Waits for the post office: ${act.says}. It is sent when that is back.`, 2e9);
  const button = Object.assign(document.createElement("button"), { type: "button", textContent: "Take it back " });
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

// send sends what waited, and reports whether it was answered. A refusal is told, and its text is there again.
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

// A link or a form that would leave the page leaves it where it is: behind it there is nothing to see.
for (const kind of ["click", "submit"]) {
  document.addEventListener(kind, (e) => {
    const el = e.target.closest?.(kind === "click" ? "a[href]" : "form");
    if (!office.since || !el || el.matches("[hx-get], [hx-post], [target], [download], [href^='#']") || e.ctrlKey || e.metaKey || e.defaultPrevented) return;
    e.preventDefault();
    tell("The post office is away, so this page stays.");
  }, true);
}

function tell(text, ms = 8_000) {
  const toast = Object.assign(document.createElement("div"), { className: "toast", textContent: text });
  toast.dataset.ms = ms;
  document.getElementById("toasts").append(toast);
  return toast;
}

// A new version of the post office has new pages. What is being written stays until it has left.
let renewing; // the timer of the next try
document.addEventListener("pp-renewed", renew);
function renew() {
  clearTimeout(renewing);
  const written = [...document.querySelectorAll("main textarea, dialog textarea")].some((t) => t.value !== t.defaultValue);
  if (written || sending) { renewing = setTimeout(renew, 2_000); return; }
  location.reload();
}

// What tabs that are gone have left is sent by this one.
takeOver("waiting").then((left) => {
  wait([...waiting, ...left.flat()]);
  sendAll();
});

// What happens in the room reaches the page as a place in its journal: by a stream, or, when nothing is heard of that, by asking.
const { base, seq, version } = document.body.dataset;
const silence = 5_000; // the stream gives a sign of life every 2 s
const idle = 20_000; // between two questions where no stream comes through
const pace = 1_000; // between two looks at what changed, however much happens
const rooms = new URLSearchParams(location.search).get("rooms"); // which rooms the numbers are of, if the address says it
const scope = rooms ? `&rooms=${rooms}` : "";
let at = Number(seq);
let heard = Date.now();
let streams = false; // a sign of life has come since the last question
let ran = Date.now(); // when the timer ran last
let looked = 0; // when the live parts asked for themselves
let counts = ["inbox", "unread"].map((n) => Number(document.querySelector(`[data-count=${n}]`)?.textContent)).join(" "); // what the rooms at the side were last told of
let waiting; // the timer of their next look

// office is whether the post office is there: since when it is not, or 0.
export const office = { since: 0 };
let again; // the timer of the next question while it is away
const patience = 2_500; // for an answer that has no work to do
let leaving = false; // the page goes, and its requests are cut
addEventListener("beforeunload", () => { leaving = true; setTimeout(() => { leaving = false; }, 3_000); });

for (const sign of ["pp-tick", "pp-change"]) document.addEventListener(sign, () => { heard = Date.now(); streams = true; });
document.addEventListener("pp-change", (e) => changed(JSON.parse(e.detail.data)));
document.addEventListener("visibilitychange", () => { if (!document.hidden) ask(); });
if (base) setTimeout(connect); // behind htmx, which looks at the page in a timer of its own: no event comes before it is listened to
if (base) setInterval(listen, 1_000);

// listen looks whether something is heard. A timer that did not run has slept with its machine, whose connections may be dead.
function listen() {
  const now = Date.now();
  const slept = now - ran > silence;
  ran = now;
  if (slept && !document.hidden) ask();
  if (now - heard > (streams ? silence : idle)) { ask(); connect(); }
}

// What the page asks by itself does not count as the person's: nobody stays logged in by a page that lies open.
document.addEventListener("htmx:config:request", ({ detail: { ctx } }) => {
  if (["pp-live", "pp-minute", "pp-counts"].includes(ctx.sourceEvent?.type)) ctx.request.headers["Pennypost-Live"] = "1";
});

// connect begins a stream if there is none: hx-sse goes on with one that was cut, but not with one that never came.
function connect() { document.getElementById("live").dispatchEvent(new CustomEvent("pp-connect")); }

let asking; // the one question that is under way

export function ask() { return asking ??= inquire().finally(() => { asking = undefined; }); }

async function inquire() {
  heard = Date.now();
  streams = false;
  try {
    const answer = await fetch(`${base}/changes?after=${at}${scope}`, { signal: AbortSignal.timeout(patience) });
    if (answer.status === 401) return location.reload();
    if (answer.status >= 502) throw new TypeError("a proxy stands where the post office was");
    back();
    if (!answer.ok) return;
    const change = await answer.json();
    if (change.version && change.version !== version) document.dispatchEvent(new CustomEvent("pp-renewed"));
    changed(change);
  } catch {
    if (!leaving) gone();
  }
}

// gone says that the post office is away, and asks for it until it is back.
function gone() {
  if (!office.since) {
    office.since = Date.now();
    say(`Post office away since ${new Date().toTimeString().slice(0, 5)}. Your text is kept.`);
    document.dispatchEvent(new CustomEvent("pp-away"));
  }
  clearTimeout(again);
  again = setTimeout(ask, 1_000);
}

function back() {
  if (!office.since) return;
  office.since = 0;
  say("");
  document.dispatchEvent(new CustomEvent("pp-back"));
  connect();
  refresh();
}

function say(text) {
  const bar = document.getElementById("office-away");
  bar.textContent = text;
  bar.hidden = !text;
}

// The stream is the first to hear of it: it is cut, or begins again; a machine that slept or had no network looks at once.
if (base) {
  for (const sign of ["htmx:sse:error", "htmx:sse:close"]) document.addEventListener(sign, ask);
  document.addEventListener("htmx:sse:after:connection", ({ detail }) => { if (detail.connection.attempt) ask(); });
  for (const sign of ["online", "offline"]) addEventListener(sign, ask);
  addEventListener("pageshow", (e) => { if (e.persisted) ask(); }); // the browser has kept the page, and its stream has ended
}

// changed brings the page up to date: the numbers at once, and each part that is live by its own request.
function changed(change) {
  heard = Date.now();
  if (change.seq < at && !change.reset) return; // an answer that the stream has overtaken
  const moved = change.seq > at || change.reset; // another journal may have come under the room's name
  const elsewhere = change.desk && !moved;
  at = change.reset ? change.seq : Math.max(at, change.seq);
  count("inbox", change.needs);
  count("unread", change.unread, "updates", "count quietly");
  count("stuck", change.stuck);
  if (counts !== (counts = `${change.needs} ${change.unread}`)) document.getElementById("rail")?.dispatchEvent(new CustomEvent("pp-counts"));
  document.title = document.title.replace(/^(\(\d+\) |• )?/, change.needs ? `(${change.needs}) ` : change.unread ? "• " : "");
  document.getElementById("favicon").href = `/favicon.svg${change.needs ? `?n=${change.needs}` : ""}`;
  if (elsewhere && document.querySelector("#list[data-rooms]")) refresh();
  if (moved) refresh();
  if ((moved || elsewhere) && change.arrived) document.dispatchEvent(new CustomEvent("pp-arrived", { detail: change.arrived }));
}

function count(name, n, place = name, looks = "count") {
  const link = document.querySelector(`.places a[data-place="${place}"]`);
  let b = link.querySelector(`[data-count="${name}"]`);
  if (!b && n) {
    b = Object.assign(document.createElement("b"), { className: looks });
    b.dataset.count = name;
    if (name === "unread") link.querySelector("span").after(b); else link.append(b);
  }
  if (b) { b.textContent = n || ""; b.hidden = !n; }
}

// refresh has every live part of the page ask for itself again: at once, but in a storm once in a while, and while nobody looks, not before somebody does.
function refresh() {
  if (waiting) return;
  waiting = setTimeout(() => {
    waiting = undefined;
    if (document.hidden) return document.addEventListener("visibilitychange", refresh, { once: true });
    looked = Date.now();
    look();
  }, Math.max(0, looked + pace - Date.now()));
}

function look() {
  for (const part of document.querySelectorAll('[hx-trigger~="pp-live"]')) part.dispatchEvent(new CustomEvent("pp-live"));
}

// announce tells who listens to the page instead of seeing it.
export function announce(text) {
  document.getElementById("announce").textContent = text;
}

// Changes in the room reach the page as sequence numbers: by a stream or, without one, by polling.
const { base, seq, version } = document.body.dataset;
const silence = 5_000; // the stream has a heartbeat every 2 s
const idle = 20_000; // between polls without a stream
const pace = 1_000; // the least time between refreshes
const rooms = new URLSearchParams(location.search).get("rooms"); // the rooms that the counts cover, if the address names them
const scope = rooms ? `&rooms=${rooms}` : "";
let at = Number(seq);
let heard = Date.now();
let streams = false; // a heartbeat has arrived since the last poll
let ran = Date.now(); // the last run of the timer
let looked = 0; // the last refresh
let counts = ["inbox", "unread"].map((n) => Number(document.querySelector(`[data-count=${n}]`)?.textContent)).join(" "); // the counts last sent to the rooms at the side
let waiting; // the timer of the next refresh

// office.since is when the post office went away, or 0.
export const office = { since: 0 };
let again; // the timer of the next poll while it is away
const patience = 2_500; // for a cheap request
let leaving = false; // the page is being left, which cancels its requests
addEventListener("beforeunload", () => { leaving = true; setTimeout(() => { leaving = false; }, 3_000); });

for (const sign of ["pp-tick", "pp-change"]) document.addEventListener(sign, () => { heard = Date.now(); streams = true; });
document.addEventListener("pp-change", (e) => changed(JSON.parse(e.detail.data)));
document.addEventListener("visibilitychange", () => { if (!document.hidden) ask(); });
if (base) setTimeout(connect); // after htmx, which processes the page in its own timer, so that it listens before the first event
if (base) setInterval(listen, 1_000);

// listen checks for heartbeats. If the timer paused, the machine slept, and its connections may be dead.
function listen() {
  const now = Date.now();
  const slept = now - ran > silence;
  ran = now;
  if (slept && !document.hidden) ask();
  if (now - heard > (streams ? silence : idle)) { ask(); connect(); }
}

// The page's own requests are not acts of the person: an open page must not extend the session.
document.addEventListener("htmx:config:request", ({ detail: { ctx } }) => {
  if (["pp-live", "pp-minute", "pp-counts"].includes(ctx.sourceEvent?.type)) ctx.request.headers["Pennypost-Live"] = "1";
});

// connect opens a stream if there is none: hx-sse resumes a stream that broke, but not one that never opened.
function connect() { document.getElementById("live").dispatchEvent(new CustomEvent("pp-connect")); }

let asking; // the poll in progress

export function ask() { return asking ??= inquire().finally(() => { asking = undefined; }); }

async function inquire() {
  heard = Date.now();
  streams = false;
  try {
    const answer = await fetch(`${base}/changes?after=${at}${scope}`, { signal: AbortSignal.timeout(patience) });
    if (answer.status === 401) return location.reload();
    if (answer.status >= 502) throw new TypeError("a proxy answers for the post office");
    back();
    if (!answer.ok) return;
    const change = await answer.json();
    if (change.version && change.version !== version) document.dispatchEvent(new CustomEvent("pp-renewed"));
    changed(change);
  } catch {
    if (!leaving) gone();
  }
}

// gone shows that the post office is away, and polls until it is back.
function gone() {
  if (!office.since) {
    office.since = Date.now();
    say(`Post office offline since ${new Date().toTimeString().slice(0, 5)}. Your text is kept.`);
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

// The stream notices first: it breaks or reconnects; after sleep or a lost network, poll immediately.
if (base) {
  for (const sign of ["htmx:sse:error", "htmx:sse:close"]) document.addEventListener(sign, ask);
  document.addEventListener("htmx:sse:after:connection", ({ detail }) => { if (detail.connection.attempt) ask(); });
  for (const sign of ["online", "offline"]) addEventListener(sign, ask);
  addEventListener("pageshow", (e) => { if (e.persisted) ask(); }); // restored from the browser's cache, so the stream has ended
}

// changed updates the counts, and makes each live part refresh itself.
function changed(change) {
  heard = Date.now();
  if (change.seq < at && !change.reset) return; // a response overtaken by the stream
  const moved = change.seq > at || change.reset; // the room may have a new journal
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

// refresh refreshes every live part: immediately, but at most once per pace, and not while the page is hidden.
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

// announce informs screen readers.
export function announce(text) {
  document.getElementById("announce").textContent = text;
}

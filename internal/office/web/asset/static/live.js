// What happens in the room reaches the page as a place in its journal: by a stream, or, when nothing is heard of that, by asking.
const { base, seq } = document.body.dataset;
const silence = 20_000; // the stream gives a sign of life every 15 s
const pace = 1_000; // between two looks at what changed, however much happens
let at = Number(seq);
let heard = Date.now();
let looked = 0; // when the live parts asked for themselves
let waiting; // the timer of their next look

document.addEventListener("pp-tick", () => { heard = Date.now(); });
document.addEventListener("pp-change", (e) => changed(JSON.parse(e.detail.data)));
document.addEventListener("visibilitychange", () => { if (!document.hidden) ask(); });
if (base) setTimeout(connect); // behind htmx, which looks at the page in a timer of its own: no event comes before it is listened to
if (base) setInterval(() => { if (Date.now() - heard > silence) { ask(); connect(); } }, 2_000);

// What the page asks by itself does not count as the person's: nobody stays logged in by a page that lies open.
document.addEventListener("htmx:config:request", ({ detail: { ctx } }) => {
  if (ctx.sourceEvent?.type === "pp-live") ctx.request.headers["Pennypost-Live"] = "1";
});

// connect begins a stream if there is none: hx-sse goes on with one that was cut, but not with one that never came.
function connect() { document.getElementById("live").dispatchEvent(new CustomEvent("pp-connect")); }

export async function ask() {
  heard = Date.now();
  try {
    const answer = await fetch(`${base}/changes?after=${at}`);
    if (answer.status === 401) location.reload();
    if (answer.ok) changed(await answer.json());
  } catch {
    // the post office is away; it is asked again
  }
}

// changed brings the page up to date: the numbers at once, and each part that is live by its own request.
function changed(change) {
  heard = Date.now();
  if (change.seq < at && !change.reset) return; // an answer that the stream has overtaken
  const moved = change.seq > at || change.reset; // another journal may have come under the room's name
  const elsewhere = change.desk && !moved;
  at = change.reset ? change.seq : Math.max(at, change.seq);
  count("inbox", change.needs);
  count("unread", change.unread, "inbox", "count quietly");
  count("stuck", change.stuck);
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

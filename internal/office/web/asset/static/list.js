// Live lists: new rows never move the row being read. They wait for a click on a pill unless the list is at its top and not in use.
import { announce, ask } from "./live.js";

let forced = false; // the person asked for new rows, and no request for them has begun since
let place = 0; // the open letter's index, in case its row disappears

// Only a request that begins later has what the person asked for.
document.addEventListener("htmx:before:request", ({ detail: { ctx } }) => {
  if (ctx.sourceElement?.id !== "rows") return;
  ctx.forced = forced;
  forced = false;
});
document.addEventListener("htmx:error", ({ detail: { ctx } }) => { forced ||= Boolean(ctx?.forced); });

document.addEventListener("htmx:before:swap", (e) => {
  const { ctx } = e.detail;
  const list = document.getElementById("list");
  if (!list || ctx?.sourceElement?.id !== "rows") return;
  const fresh = new DOMParser().parseFromString(ctx.text, "text/html");
  const pill = document.getElementById("pill");
  const added = unknown(fresh);
  const text = `${added.length} new`;
  if (added.length && pill.textContent !== text) announce(text);
  if (ctx.forced || !reads(list)) {
    pill.hidden = true;
    pill.textContent = "";
    return;
  }
  e.preventDefault();
  settle(fresh);
  recount(fresh);
  pill.textContent = added.length ? text : "";
  pill.hidden = !added.length;
});

document.addEventListener("click", (e) => {
  if (!e.target.closest("#pill")) return;
  document.getElementById("pill").hidden = true;
  document.getElementById("list").scrollTo({ top: 0 });
  reload();
});

// Snoozed mail returns, and days end, without events. The first agent is shown as soon as it has come.
setInterval(() => {
  if (document.hidden || !document.getElementById("rows")) return;
  document.getElementById("away")?.dispatchEvent(new CustomEvent("pp-minute"));
  for (const id of ["rows", "letter"]) document.getElementById(id)?.dispatchEvent(new CustomEvent("pp-live"));
  ask();
}, 60_000);
setInterval(async () => {
  if (document.hidden || !document.getElementById("steps")) return;
  if (document.body.dataset.base) return reload();
  const page = await fetch("/", { headers: { "Pennypost-Live": "1" } }).then((a) => a.text(), () => "");
  if (page && !page.includes('data-base=""')) location.reload(); // the first agent created the first room
}, 2_000);

// reload shows new rows even while the list is in use.
export function reload() {
  forced = true;
  document.getElementById("rows")?.dispatchEvent(new CustomEvent("pp-live"));
}

// unknown returns the rows of fresh that the list lacks. Late arrivals may be further down. In the inbox, read rows are not new: an answered question is now among the updates.
function unknown(fresh) {
  const isNew = (r) => !r.closest(".slot") || r.matches(".unread");
  return [...fresh.querySelectorAll(".row")].filter((r) => !document.getElementById(r.id) && isNew(r));
}

// reads reports whether the list is in use. An empty list is not.
function reads(list) {
  if (!list.querySelector(".row")) return false;
  return list.scrollTop > 40 || list.contains(document.activeElement) || list.matches(":hover");
}

// settle updates the rows without moving them.
function settle(fresh) {
  for (const row of document.querySelectorAll("#rows .row")) {
    const now = fresh.getElementById(row.id);
    if (now && now.innerHTML !== row.innerHTML) row.innerHTML = now.innerHTML;
    if (now) row.className = now.className;
    const slot = row.closest(".slot");
    if (now && slot) slot.dataset.messages = now.closest(".slot").dataset.messages;
    else if (!now && slot?.matches(".asked")) drop(slot); // a closed dialog needs no answer
    else if (!now && !row.hasAttribute("aria-current")) row.classList.add("gone"); // it has left the list
  }
}

// recount updates the number of items that need the person.
function recount(fresh) {
  const now = fresh.querySelector("#needs .part-name");
  const shown = document.querySelector("#needs .part-name");
  if (now && shown) shown.innerHTML = now.innerHTML;
  if (!document.querySelector("#list .row")) reload();
}

// The open letter's row is marked when it is clicked, and stays marked after refreshes.
document.addEventListener("click", (e) => {
  const row = e.target.closest("#list .row");
  if (!row || !row.dataset.id || e.ctrlKey || e.metaKey || e.shiftKey) return;
  choose(row.dataset.id);
  row.classList.remove("unread");
  row.querySelector(".dot + .hidden")?.remove();
  document.querySelector(".panes")?.classList.add("opened");
});
document.addEventListener("htmx:after:swap", (e) => {
  if (!document.getElementById("list")) return;
  choose(document.getElementById("letter")?.dataset.id);
  const detail = document.getElementById("detail");
  // On a phone the letter replaces the list, and takes the focus.
  if (e.detail?.ctx?.target === detail && !document.getElementById("list").checkVisibility()) detail.focus();
});

function choose(id) {
  if (!document.getElementById("list")) return;
  const all = rows();
  for (const row of all) {
    if (row.dataset.id !== id) {
      row.removeAttribute("aria-current");
      continue;
    }
    row.setAttribute("aria-current", "true");
    place = all.indexOf(row);
  }
}
choose(document.getElementById("letter")?.dataset.id);
document.querySelector("#list .row[aria-current]")?.scrollIntoView({ block: "center" });

// rows are the rows for j and k.
function rows() { return [...document.querySelectorAll(document.querySelector(".panes.focus") ? "#needs .row" : "main .row, .held, .thread .post")]; }

// current is the row with the focus, else the open one.
export const current = () => document.activeElement?.closest(".slot")?.querySelector(".row") ?? document.activeElement?.closest(".row, .held, .thread .post") ?? document.querySelector("main .row[aria-current]");

// step moves the focus by n rows, and returns the new row.
export function step(n) {
  const all = rows();
  const i = all.indexOf(current());
  const next = i < 0 ? all[Math.min(place, all.length - 1)] : all[Math.min(Math.max(i + n, 0), all.length - 1)];
  next?.focus();
  next?.scrollIntoView({ block: "nearest" });
  return next;
}

// takeAway removes rows from the list, and continues with the next one: if a letter was open, the next opens; if a row had the focus, the next gets it. After an answer the next open question follows; without one, the letter stays and shows the delivery of the answer.
export function takeAway(slots, answered, open) {
  const all = rows();
  const gone = slots.map((s) => s.querySelector(".row"));
  const last = gone.length ? all.indexOf(gone.at(-1)) : place;
  const left = (r) => r && !gone.includes(r) && (!answered || r.dataset.asks);
  const next = all.slice(last + (gone.length ? 1 : 0)).find(left) ?? all.slice(0, Math.max(last, 0)).findLast(left);
  const was = document.activeElement;
  const focused = open || !was || was === document.body || slots.some((s) => s.contains(was));
  for (const slot of slots) drop(slot);
  const wide = document.getElementById("list").checkVisibility();
  if (open && next && (wide || answered)) next.click();
  else if (open && answered) document.getElementById("letter").dispatchEvent(new CustomEvent("pp-live"));
  else if (open) close();
  if (focused) (next ?? rows()[Math.min(Math.max(last, 0), rows().length - 1)])?.focus();
  if (!document.querySelector("#list .row")) reload();
}

// drop removes a row, and its group's heading if it was the last.
function drop(slot) {
  const before = slot.previousElementSibling;
  const after = slot.nextElementSibling;
  const part = slot.closest(".part");
  slot.remove();
  const number = part?.querySelector("#needs > .part-name .number"); // also counts rows not loaded
  if (number) number.textContent -= 1;
  if (before?.matches(".when") && !after?.matches(".slot")) before.remove();
  if (part && !part.querySelector(".slot")) part.remove();
}

// close returns from the letter to the list.
export function close() {
  const panes = document.querySelector(".panes");
  if (!panes) return;
  const row = current();
  const list = document.getElementById("list");
  panes.classList.remove("opened");
  history.pushState(null, "", list.dataset.here);
  document.title = document.title.replace(/^(\(\d+\) |• )?.*/, "$1Inbox · Pennypost");
  const empty = document.createElement("div");
  empty.className = "empty faint";
  document.getElementById("detail").replaceChildren(empty);
  for (const other of list.querySelectorAll(".row[aria-current]")) other.removeAttribute("aria-current");
  row?.focus();
}

// Lists that are live: what is new never moves what the person reads. It waits behind a pill unless the list is at its top and nobody is in it.
import { announce, ask } from "./live.js";

let forced = false; // the person asked for what is new
let place = 0; // of the open letter among the rows, should its row go

document.addEventListener("htmx:before:swap", (e) => {
  const { ctx } = e.detail;
  const list = document.getElementById("list");
  if (!list || ctx?.sourceElement?.id !== "rows") return;
  const fresh = new DOMParser().parseFromString(ctx.text, "text/html");
  const pill = document.getElementById("pill");
  const added = unknown(fresh);
  const text = `${added.length} new`;
  if (added.length && pill.textContent !== text) announce(text);
  if (forced || !reads(list)) {
    forced = false;
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

// What was put off comes back at its time, which is no event; and a day ends. To whom no agent has come yet, the first is shown at once.
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
  if (page && !page.includes('data-base=""')) location.reload(); // the first agent has made the first room
}, 2_000);

// reload shows what is new, whoever is in the list.
export function reload() {
  forced = true;
  document.getElementById("rows")?.dispatchEvent(new CustomEvent("pp-live"));
}

// unknown returns the rows of fresh that the list does not show. What was sent long ago may come in late, and further down. In the inbox, what was read is not new: a question that was just answered is among the updates then.
function unknown(fresh) {
  const isNew = (r) => !r.closest(".slot") || r.matches(".unread");
  return [...fresh.querySelectorAll(".row")].filter((r) => !document.getElementById(r.id) && isNew(r));
}

// reads reports whether somebody is in the list. An empty one has nothing to read.
function reads(list) {
  if (!list.querySelector(".row")) return false;
  return list.scrollTop > 40 || list.contains(document.activeElement) || list.matches(":hover");
}

// settle shows what became of the rows that are there, and leaves them where they are.
function settle(fresh) {
  for (const row of document.querySelectorAll("#rows .row")) {
    const now = fresh.getElementById(row.id);
    if (now && now.innerHTML !== row.innerHTML) row.innerHTML = now.innerHTML;
    if (now) row.className = now.className;
    const slot = row.closest(".slot");
    if (now && slot) slot.dataset.messages = now.closest(".slot").dataset.messages;
    else if (!now && slot?.matches(".asked")) drop(slot); // a dialog that is over asks nobody
    else if (!now && !row.hasAttribute("aria-current")) row.classList.add("gone"); // it does not belong here any more
  }
}

// recount says anew how much needs the person.
function recount(fresh) {
  const now = fresh.querySelector("#needs .part-name");
  const shown = document.querySelector("#needs .part-name");
  if (now && shown) shown.innerHTML = now.innerHTML;
  if (!document.querySelector("#list .row")) reload();
}

// The row of the open letter is marked at once when it is chosen, and stays so whatever is shown anew.
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
  // On a phone the letter takes the place of the list, and the focus with it.
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

// rows are what j and k walk through.
function rows() { return [...document.querySelectorAll(document.querySelector(".panes.focus") ? "#needs .row" : "main .row, .held, .thread .post")]; }

// current is the row that has the focus, else the one that is open.
export const current = () => document.activeElement?.closest(".slot")?.querySelector(".row") ?? document.activeElement?.closest(".row, .held, .thread .post") ?? document.querySelector("main .row[aria-current]");

// step moves the focus by n rows, and returns the row that has it.
export function step(n) {
  const all = rows();
  const i = all.indexOf(current());
  const next = i < 0 ? all[Math.min(place, all.length - 1)] : all[Math.min(Math.max(i + n, 0), all.length - 1)];
  next?.focus();
  next?.scrollIntoView({ block: "nearest" });
  return next;
}

// takeAway removes rows from the list, and goes on to the next one as the person was reading: a letter is followed by a letter, a row by a row. Behind an answer comes the next open question; if there is none, the letter stays, with what becomes of the answer.
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

// drop takes a row out, and the name of its group if it was the last in it.
function drop(slot) {
  const before = slot.previousElementSibling;
  const after = slot.nextElementSibling;
  const part = slot.closest(".part");
  slot.remove();
  const number = part?.querySelector("#needs > .part-name .number"); // how many there are, also where not all are loaded
  if (number) number.textContent -= 1;
  if (before?.matches(".when") && !after?.matches(".slot")) before.remove();
  if (part && !part.querySelector(".slot")) part.remove();
}

// close goes from the letter back to the list.
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

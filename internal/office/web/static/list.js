// Lists that are live: what is new never moves what the person reads. It waits behind a pill unless the list is at its top and nobody is in it.
import { announce, ask } from "./live.js";

let forced = false; // the person asked for what is new
let place = Infinity; // where in the journal the open letter stands, should its row go

document.addEventListener("htmx:before:swap", (e) => {
  const { ctx } = e.detail;
  const list = document.getElementById("list");
  if (!list || ctx?.sourceElement?.id !== "rows") return;
  const fresh = new DOMParser().parseFromString(ctx.text, "text/html");
  const pill = document.getElementById("pill");
  const added = unknown(list, fresh);
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
  pill.textContent = added.length ? text : "";
  pill.hidden = !added.length;
});

document.addEventListener("click", (e) => {
  if (!e.target.closest("#pill")) return;
  document.getElementById("pill").hidden = true;
  document.getElementById("list").scrollTo({ top: 0 });
  reload();
});

// What was put off comes back at its time, which is no event; and a day ends.
setInterval(() => {
  if (document.hidden || !document.getElementById("rows")) return;
  document.getElementById("rows").dispatchEvent(new CustomEvent("pp-live"));
  ask();
}, 60_000);

// reload shows what is new, whoever is in the list.
export function reload() {
  forced = true;
  document.getElementById("rows")?.dispatchEvent(new CustomEvent("pp-live"));
}

// unknown returns the rows of fresh that the list does not show and that belong above what it shows.
function unknown(list, fresh) {
  const first = Number(list.querySelector(".row")?.dataset.seq ?? 0);
  return [...fresh.querySelectorAll(".row")].filter((r) => Number(r.dataset.seq) > first && !document.getElementById(r.id));
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
    else if (!row.hasAttribute("aria-current")) row.classList.add("gone"); // it does not belong here any more
  }
}

// The row of the open letter is marked at once when it is chosen, and stays so whatever is shown anew.
document.addEventListener("click", (e) => {
  const row = e.target.closest("#list .row");
  if (!row || e.ctrlKey || e.metaKey || e.shiftKey) return;
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
  for (const row of rows()) {
    if (row.dataset.id !== id) {
      row.removeAttribute("aria-current");
      continue;
    }
    row.setAttribute("aria-current", "true");
    place = Number(row.dataset.seq);
  }
}
choose(document.getElementById("letter")?.dataset.id);
document.querySelector("#list .row[aria-current]")?.scrollIntoView({ block: "center" });

// rows are what j and k walk through.
function rows() { return [...document.querySelectorAll("main .row")]; }

// current is the row that has the focus, else the one that is open.
const current = () => document.activeElement?.closest(".row") ?? document.querySelector("main .row[aria-current]");

// step moves the focus by n rows.
export function step(n) {
  const all = rows();
  const i = all.indexOf(current());
  const next = i < 0 ? following(all) : all[Math.min(Math.max(i + n, 0), all.length - 1)];
  next?.focus();
  next?.scrollIntoView({ block: "nearest" });
}

// following is the row after the place of the letter whose row has gone.
function following(all) { return all.find((r) => !(Number(r.dataset.seq) >= place)) ?? all.at(-1); }

// takeAway removes a message from the list, and goes on to the next one as the person was reading: a letter is followed by a letter, a row by a row.
export function takeAway(id) {
  const all = rows();
  const row = all.find((r) => r.dataset.id === id);
  const i = all.indexOf(row);
  const next = row ? all[i + 1] ?? all[i - 1] : following(all);
  const was = document.activeElement;
  const open = document.getElementById("letter")?.dataset.id === id;
  const focused = open || !was || was === document.body || was === row;
  if (row) drop(row);
  if (open && next && document.getElementById("list").checkVisibility()) next.click();
  else if (open) close();
  if (focused) next?.focus();
  if (!next) reload();
}

// drop takes a row out, and the name of its group if it was the last in it.
function drop(row) {
  const before = row.previousElementSibling;
  const after = row.nextElementSibling;
  row.remove();
  if (before?.matches(".when") && !after?.matches(".row")) before.remove();
}

// close goes from the letter back to the list.
export function close() {
  const panes = document.querySelector(".panes");
  if (!panes) return;
  const row = current();
  const list = document.getElementById("list");
  panes.classList.remove("opened");
  history.pushState(null, "", list.dataset.here);
  document.title = document.title.replace(/^(\(\d+\) )?.*/, "$1Inbox · Pennypost");
  const empty = document.createElement("div");
  empty.className = "empty faint";
  document.getElementById("detail").replaceChildren(empty);
  for (const other of list.querySelectorAll(".row[aria-current]")) other.removeAttribute("aria-current");
  row?.focus();
}

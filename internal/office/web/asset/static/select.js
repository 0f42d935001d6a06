// Selecting rows: with x and the boxes, a range with Shift, a whole part with *. The next action applies to all of them.
import { announce } from "./live.js";
import { current, step } from "./list.js";

const picked = new Set(); // ids of rows, which survive refreshes
let anchor; // the start of a range

const rows = () => [...document.querySelectorAll("#list .slot:not(.asked) .row")]; // dialogs are not mail

// pickedRows are the selected rows.
export const pickedRows = () => rows().filter((r) => picked.has(r.id));

// pick selects or deselects a row.
export function pick(row, on = !picked.has(row.id)) {
  if (on) picked.add(row.id); else picked.delete(row.id);
  anchor = row;
  show();
}

// unpick clears the selection, and reports whether there was one.
export function unpick() {
  const any = picked.size > 0;
  picked.clear();
  if (any) show();
  return any;
}

// range selects the rows from the last selected one, or the current one, to row.
function range(row) {
  const all = rows();
  const from = all.indexOf(anchor ?? current());
  const to = all.indexOf(row);
  for (const r of all.slice(Math.min(from < 0 ? to : from, to), Math.max(from, to) + 1)) picked.add(r.id);
  anchor = row;
  show();
}

// extend selects the current row and the one n rows further.
export function extend(n) {
  const row = current();
  if (row) picked.add(row.id);
  const next = step(n);
  if (next) pick(next, true);
}

// part selects the whole part with the focus, by default the updates.
export function part() {
  const here = current()?.closest("#needs");
  for (const r of rows()) if (Boolean(r.closest("#needs")) === Boolean(here) || !document.getElementById("updates")) picked.add(r.id);
  show();
}

function show() {
  const all = pickedRows();
  if (!all.length) picked.clear();
  for (const r of rows()) {
    const on = picked.has(r.id);
    const slot = r.closest(".slot");
    slot.classList.toggle("picked-row", on);
    slot.querySelector(".pick input").checked = on;
  }
  const bar = document.getElementById("picked");
  if (!bar) return;
  const more = document.getElementById("more") && all.length > 1 && all.length === rows().length; // rows not loaded are not selected
  const text = all.length ? `${all.length} selected${more ? "; the list continues" : ""}` : "";
  if (document.getElementById("picked-count").textContent !== text) announce(text || "None selected");
  document.getElementById("picked-count").textContent = text;
  bar.hidden = !all.length;
}
document.addEventListener("htmx:after:swap", () => { if (picked.size) show(); });

document.addEventListener("click", (e) => {
  const slot = e.target.closest("#list .slot:not(.asked)");
  if (!slot) return;
  const row = slot.querySelector(".row");
  if (e.target.closest(".pick")) {
    if (!e.target.matches("input")) return; // a click on the label also clicks its box
    if (e.shiftKey) range(row); else pick(row, e.target.checked);
  } else if (e.shiftKey && e.target.closest(".row")) {
    e.preventDefault();
    e.stopImmediatePropagation();
    range(row);
  }
}, true);

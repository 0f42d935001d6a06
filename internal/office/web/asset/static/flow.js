// Keep unfolded parts unfolded.
let opened = new Map();
const narrow = matchMedia("(max-width: 760px)");

function settle() {
  const pairs = document.getElementById("pairs"); // on a phone the pairs replace the picture
  if (pairs && narrow.matches && !opened.has("pairs")) pairs.open = true;
  for (const [id, open] of opened) {
    const el = document.getElementById(id);
    if (el && el.open !== open) el.open = open;
  }
}

document.addEventListener("toggle", (e) => {
  if (e.target.matches("details.pairs, details.fold")) opened.set(e.target.id, e.target.open);
}, true);
document.addEventListener("htmx:after:swap", settle);
settle();

// Waiting times grow without events.
function lasting(ms) {
  const all = Math.floor(ms / 60e3), hours = Math.floor(all / 60), minutes = all % 60;
  if (!hours) return `${minutes} min`;
  if (hours >= 48) return `${Math.floor(hours / 24)} days`;
  return minutes ? `${hours} h ${minutes} min` : `${hours} h`;
}

setInterval(() => {
  for (const t of document.querySelectorAll("time[data-lasting]")) {
    const text = lasting(Date.now() - new Date(t.dateTime));
    if (t.textContent !== text) t.textContent = text;
  }
}, 30_000);

// In the matrix, highlight the row and column of the cell under the pointer or with the focus.
function mark(e) {
  const cell = e.target.closest?.(".matrix :is(td, th)");
  for (const lit of document.querySelectorAll(".matrix .lit")) lit.classList.remove("lit");
  if (!cell || cell.closest("thead, tfoot") && !cell.cellIndex) return;
  const at = cell.cellIndex;
  const column = at ? [...cell.closest("table").rows].map((r) => r.cells[at]) : [];
  for (const c of [...column, ...cell.parentElement.cells]) c.classList.add("lit");
}
document.addEventListener("pointerover", mark);
document.addEventListener("focusin", mark);

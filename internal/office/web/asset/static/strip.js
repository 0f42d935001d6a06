// Focus: a small stamp for each item that needs the person, in order, and the progress.
import { close } from "./list.js";

const most = 30; // stamps drawn
const done = () => Number(sessionStorage.getItem("pp-answered") ?? 0);
const count = (n) => { sessionStorage.setItem("pp-answered", Math.max(0, done() + n)); draw(); };

function draw() {
  const strip = document.getElementById("strip");
  if (!strip?.closest(".focus")) return;
  const rows = [...document.querySelectorAll("#needs .slot .row")];
  const now = rows.findIndex((r) => r.getAttribute("aria-current") === "true");
  const kinds = rows.map((r, i) => `stamp tiny${r.closest(".asked") ? " of-dialog" : r.matches(".urgent") ? "" : " later"}${i === now ? " now" : ""}`);
  const before = Math.min(done(), 8);
  const stamps = [...Array(before).fill("done"), ...kinds.slice(0, most)];
  document.getElementById("stamps").replaceChildren(...stamps.map((k) => Object.assign(document.createElement("li"), { className: k })));
  const all = done() + rows.length;
  const left = rows.length > most ? ` + ${rows.length - most}` : "";
  document.getElementById("how-far").textContent = rows.length ? `${done() + Math.max(now, 0) + 1} of ${all}${left && ""}` : done() === 1 ? "Answered." : `All ${done()} answered.`;
  document.getElementById("to-go").textContent = rows.length ? `${done()} answered, ${rows.length} to go${left && `, the last ${rows.length - most} not drawn`}` : "";
}

document.addEventListener("pp-done", () => {
  const last = [...document.querySelectorAll("#toasts .toast[data-done]")].at(-1)?.dataset;
  if (last?.done === "answered" || last?.done === "settled") count(1);
  if (last?.done === "back" && last.messages) count(-1);
}, true);
for (const event of ["htmx:after:swap", "pp-dropped"]) document.addEventListener(event, draw);
new MutationObserver(draw).observe(document.getElementById("rows") ?? document.createElement("i"), { childList: true, subtree: true, attributeFilter: ["aria-current", "class"] });

// Escape, or the link, shows the list.
document.addEventListener("click", (e) => {
  if (!e.target.closest("[data-do=list]") || e.ctrlKey || e.metaKey) return;
  e.preventDefault();
  leave();
});

// leave returns from Focus to the list.
export function leave() {
  sessionStorage.removeItem("pp-answered");
  document.querySelector(".panes").classList.remove("focus");
  close();
}
if (!document.querySelector(".panes.focus")) sessionStorage.removeItem("pp-answered");
draw();

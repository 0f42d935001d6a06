// The palette: Ctrl or Command with K opens it, typing searches, arrows select, Enter opens.
import { settled } from "./keys.js";

const mac = /Mac|iPhone|iPad/.test(navigator.platform);
let entered = false; // Enter was pressed before the results arrived

document.addEventListener("keydown", (e) => {
  if (e.key.toLowerCase() === "k" && (mac ? e.metaKey : e.ctrlKey) && !e.altKey && !e.shiftKey) {
    e.preventDefault();
    const open = document.querySelector("dialog[open]");
    if (!open) settled.then(() => document.getElementById("palette-button")?.click());
    else if (open.id === "palette") open.close();
    return;
  }
  if (e.target.id === "palette-q" && !e.isComposing) move(e);
});

function move(e) {
  if (e.key.length === 1) entered = false;
  const all = choices();
  const i = all.indexOf(chosen());
  const to = { ArrowDown: (i + 1) % all.length, ArrowUp: (i - 1 + all.length) % all.length }[e.key];
  if (to === undefined) return;
  e.preventDefault();
  choose(all[to]);
}

document.addEventListener("submit", (e) => {
  if (!e.target.querySelector("#palette-q")) return;
  e.preventDefault();
  if (fresh()) chosen()?.click();
  else entered = true;
});

const choices = () => [...document.querySelectorAll("#palette-results [role=option]:not([aria-disabled])")];
const chosen = () => document.querySelector("#palette-results [aria-selected=true]");

// fresh reports whether the results are for the current text.
const fresh = () => document.getElementById("palette-q").value.trim() === document.getElementById("palette-results").dataset.query;

function choose(option) {
  for (const o of choices()) o.ariaSelected = String(o === option);
  const input = document.getElementById("palette-q");
  if (!option) return input.removeAttribute("aria-activedescendant");
  input.setAttribute("aria-activedescendant", option.id);
  option.scrollIntoView({ block: "nearest" });
}

document.addEventListener("htmx:after:swap", () => {
  const all = document.getElementById("palette-results") ? choices() : [];
  if (!all.length || chosen()) return;
  choose(all[0]);
  if (!entered || !fresh()) return;
  entered = false;
  all[0].click();
});

document.addEventListener("pointermove", (e) => {
  const option = e.target.closest?.("#palette-results [role=option]:not([aria-disabled])");
  if (option && option.ariaSelected !== "true") choose(option);
});

document.addEventListener("click", (e) => {
  const option = e.target.closest("#palette-results [role=option]");
  if (option) option.closest("dialog")?.close(); // after the other listeners have run

  // A click outside closes a menu.
  for (const menu of document.querySelectorAll("details[name=menu][open]")) if (!menu.contains(e.target)) menu.open = false;
});

document.addEventListener("keydown", (e) => {
  const menu = e.key === "Escape" && document.querySelector("details[name=menu][open]");
  if (!menu) return;
  menu.open = false;
  menu.querySelector("summary").focus();
});

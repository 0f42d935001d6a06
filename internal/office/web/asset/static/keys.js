// One key is one command, unless the person types.
import { step, close } from "./list.js";
import { rowKey } from "./triage.js";
import { unpick } from "./select.js";
import { leave } from "./strip.js";

const places = Object.fromEntries([...document.querySelectorAll(".places a[aria-keyshortcuts]")].map((a) => [a.getAttribute("aria-keyshortcuts").slice(-1), a]));
let went = 0; // when g was pressed, if it was the last key

// settled is when htmx has taken the page over: a link that is pressed before is nothing but a link.
export const settled = new Promise((done) => {
  if (document.readyState === "complete") setTimeout(done);
  else addEventListener("load", () => setTimeout(done));
});
let ready = false;
settled.then(() => { ready = true; });

const commands = {
  j: () => go(1),
  k: () => go(-1),
  c: () => document.getElementById("compose-button")?.click(),
  "/": () => document.getElementById("search").focus(),
  "?": () => document.getElementById("keys").showModal(),
  Escape: () => {
    if (unpick()) return;
    if (document.querySelector(".panes.focus")) leave();
    else if (document.querySelector(".panes.opened")) close();
  },
};

document.addEventListener("keydown", (e) => {
  if (e.defaultPrevented || e.isComposing || e.ctrlKey || e.metaKey || e.altKey || types(e.target) || document.querySelector("dialog[open], :popover-open")) return;
  if (Date.now() - went < 1_200 && places[e.key]) {
    went = 0;
    e.preventDefault();
    settled.then(() => places[e.key].click());
    return;
  }
  went = e.key === "g" ? Date.now() : 0;
  if (e.repeat && /^[1-9]$/.test(e.key)) return; // one press is one answer
  if (!ready) { // what the key does may depend on one before
    if (e.key.length === 1 && e.key !== " ") e.preventDefault();
    settled.then(() => command(e.key)?.());
    return;
  }
  const run = command(e.key);
  if (!run) return;
  e.preventDefault();
  run();
});

// go goes to the next row; where one is shown alone, it is shown.
function go(n) {
  const row = step(n);
  if (document.querySelector(".panes.focus")) row?.click();
}

// command returns what a key does now, if it does anything.
function command(key) {
  if (key === "Backspace") key = "Delete"; // which is what the key is called on a Mac
  const own = document.activeElement?.closest(".held")?.querySelector(`[data-row-key="${CSS.escape(key)}"]`);
  if (own) return () => own.click();
  const button = [...document.querySelectorAll(`[data-key="${CSS.escape(key)}"]`)].at(-1); // of several toasts the last
  return commands[key] ?? rowKey(key) ?? (button && (() => (button.matches("textarea, input") ? button.focus() : button.click())));
}

// Escape leaves an input.
document.addEventListener("keydown", (e) => {
  if (e.key === "Escape" && types(e.target) && !e.target.closest("dialog")) e.target.blur();
});

function types(el) {
  return el.isContentEditable || el.matches("textarea, select, input:not([type=checkbox], [type=radio], [type=button])");
}

document.addEventListener("click", (e) => {
  const what = e.target.closest("[data-do]")?.dataset.do;
  if (what === "keys") commands["?"]();
  if (what === "theme") theme();
});

// theme goes from what the system says to light, dark and back.
function theme() {
  const root = document.documentElement;
  const next = { "": "light", light: "dark", dark: "" }[root.dataset.theme ?? ""];
  if (next) root.dataset.theme = next; else delete root.dataset.theme;
  document.cookie = `pennypost_theme=${next}; path=/; max-age=31536000; samesite=strict`;
  document.querySelector("[data-do=theme]").setAttribute("aria-label", `Theme: ${next || "as the system has it"}`);
}

// Each key is a command, except while the person types.
import { step, close } from "./list.js";
import { rowKey } from "./triage.js";
import { unpick } from "./select.js";
import { leave } from "./strip.js";

const places = Object.fromEntries([...document.querySelectorAll(".places a[aria-keyshortcuts]")].map((a) => [a.getAttribute("aria-keyshortcuts").slice(-1), a]));
let went = 0; // when g was pressed, if it was the last key

// settled resolves when htmx has processed the page: before that, a link is only a link.
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
  if (!ready) { // keys must run in order
    if (e.key.length === 1 && e.key !== " ") e.preventDefault();
    settled.then(() => command(e.key)?.());
    return;
  }
  const run = command(e.key);
  if (!run) return;
  e.preventDefault();
  run();
});

// go moves to the next row, and opens it under Focus.
function go(n) {
  const row = step(n);
  if (document.querySelector(".panes.focus")) row?.click();
}

// command returns the action of a key, if it has one now.
function command(key) {
  if (key === "Backspace") key = "Delete"; // the Delete key of a Mac
  const own = document.activeElement?.closest(".held")?.querySelector(`[data-row-key="${CSS.escape(key)}"]`);
  if (own) return () => own.click();
  const button = [...document.querySelectorAll(`[data-key="${CSS.escape(key)}"]`)].at(-1); // the last of several toasts
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

// theme cycles through system, light and dark.
function theme() {
  const root = document.documentElement;
  const next = { "": "light", light: "dark", dark: "" }[root.dataset.theme ?? ""];
  if (next) root.dataset.theme = next; else delete root.dataset.theme;
  document.cookie = `pennypost_theme=${next}; path=/; max-age=31536000; samesite=strict`;
  document.querySelector("[data-do=theme]").setAttribute("aria-label", `Theme: ${next || "system"}`);
}

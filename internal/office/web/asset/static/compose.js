// Writing a letter: addresses are completed and become chips, the text can be previewed, and a slip loses no text.
import { goOn, keep } from "./drafts.js";

const form = () => document.getElementById("compose-form");

document.addEventListener("htmx:after:swap", () => { ready(); if (form()) error(); });

function ready() {
  for (const zone of document.getElementsByName("zone")) zone.dataset.set ??= zone.value = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const f = form();
  if (!f || f.dataset.ready) return;
  f.dataset.ready = "true";
  addresses(f);
  f.dataset.name = `${roomOf(f)} compose ${f.elements.reply_to?.value ?? sentTo(f)}`;
  recompose();
  for (const typed of ["input", "change"]) f.addEventListener(typed, () => keep(f.dataset.name, letter(f)));
  f.addEventListener("reset", () => { keep(f.dataset.name); goesTo(f, document.body.dataset.base); for (const chip of chipsOf(f)) chip.remove(); show(f, false); });
  f.elements.subject.addEventListener("keydown", (e) => { // Enter must not send here
    if (e.key !== "Enter" || e.isComposing) return;
    e.preventDefault();
    if (e.ctrlKey || e.metaKey) f.requestSubmit(); else f.elements.body.focus();
  });
  f.querySelector("#compose-preview-button").addEventListener("click", (e) => {
    if (f.dataset.show !== "preview") { show(f, true); return; } // htmx loads it
    e.preventDefault();
    e.stopImmediatePropagation();
    show(f, false);
    f.elements.body.focus();
  }, true);
}

// A draft includes its recipients. A reply, or a letter begun to an address, is stored separately.
const fields = ["subject", "issue", "type", "verdict", "body"];
const sentTo = (f) => chipsOf(f).map((c) => c.querySelector("input").value);

function letter(f) {
  const kept = { to: sentTo(f), base: roomOf(f), urgent: f.elements.priority.checked };
  for (const name of fields) kept[name] = f.elements[name].value;
  return typed(f) && kept;
}

function put(f, kept) {
  for (const chip of chipsOf(f)) chip.remove();
  goesTo(f, kept.base);
  for (const value of kept.to) add(f, value);
  for (const name of fields) f.elements[name].value = kept[name];
  f.elements.priority.checked = kept.urgent;
}

// recompose restores the draft of the letter.
export function recompose() {
  const f = form();
  if (f) goOn(f.elements.body, f.dataset.name, (kept) => put(f, kept), (kept) => kept.body || kept.subject);
}

// composed returns the letter with the name of its draft.
export const composed = (f) => f === form() && { name: f.dataset.name, value: letter(f) };

// error scrolls to the error.
function error() {
  document.querySelector("#compose-error .refused")?.scrollIntoView({ block: "nearest" });
}

// show shows the preview or the text.
function show(f, preview) {
  const body = f.elements.body;
  const pane = f.querySelector("#compose-preview");
  f.dataset.show = preview ? "preview" : "text";
  pane.style.minHeight = preview ? `${body.offsetHeight}px` : "";
  pane.hidden = !preview;
  body.hidden = preview;
  f.querySelector("#compose-preview-button").textContent = preview ? "Back to the text" : "Preview";
}

// A slip must not close a letter with text.
const typed = (f) => f && (f.elements.body.value !== f.elements.body.defaultValue || f.elements.subject.value !== f.elements.subject.defaultValue);

function close(e) {
  const f = form();
  const dialog = f?.closest("dialog");
  if (!dialog) return;
  e?.preventDefault();
  e?.stopImmediatePropagation();
  if (!typed(f)) { dialog.close(); return; }
  f.querySelector("#compose-discard").hidden = false;
  f.querySelector("[data-keep]").focus();
}

document.addEventListener("cancel", (e) => { if (e.target.id === "compose") close(e); }, true);
document.addEventListener("keydown", (e) => {
  if (e.key !== "Escape" || !e.target.closest?.("#compose")) return;
  if (!options().hidden) { e.preventDefault(); return; } // Escape closes the list of addresses first
  close(e);
});
document.addEventListener("click", (e) => {
  if (e.target.id === "compose" || e.target.closest("#compose [data-close]")) close(e);
  if (e.target.closest("#compose [data-discard]")) { keep(form().dataset.name); e.target.closest("dialog").close(); }
  if (e.target.closest("#compose [data-keep]")) {
    document.getElementById("compose-discard").hidden = true;
    form().elements.body.focus();
  }
}, true);
document.addEventListener("submit", (e) => {
  if (e.target !== form()) return;
  take(e.target);
}, true);

// Addresses

const options = () => document.getElementById("compose-options");
const chipsOf = (f) => [...f.querySelectorAll(".chip")];
let known = []; // selectable addresses: { value, note, base }, those in other rooms last

// addresses makes the field a combobox with the page's list of addresses.
function addresses(f) {
  const input = f.querySelector("#compose-to");
  known = [...f.querySelectorAll("#compose-addresses option")].map((o) => ({ value: o.value, note: o.textContent, base: o.dataset.base ?? document.body.dataset.base }));
  input.removeAttribute("list");
  for (const [name, value] of Object.entries({ role: "combobox", "aria-autocomplete": "list", "aria-expanded": "false", "aria-controls": "compose-options" })) {
    input.setAttribute(name, value);
  }
  input.addEventListener("input", () => {
    if (/[,\n]$/.test(input.value) && !known.some((k) => bare(k.value).startsWith(input.value) || k.value.startsWith(input.value))) take(f);
    if (input.value) offer(input); else hide(input); // keep the controls below reachable
  });
  input.addEventListener("keydown", (e) => keys(e, f, input));
  input.addEventListener("click", () => offer(input));
  input.addEventListener("blur", () => { hide(input); take(f); });
  options().addEventListener("mousedown", (e) => {
    e.preventDefault(); // keep the focus in the field
    const o = e.target.closest("[role=option]");
    if (o) choose(f, input, o);
  });
  f.querySelector("#compose-chips").addEventListener("click", (e) => {
    if (e.target.id === "compose-chips") input.focus();
  });
  f.querySelector("#compose-chips").addEventListener("change", (e) => {
    if (e.target.matches(".chip input") && !e.target.checked) { e.target.closest(".chip").remove(); input.focus(); }
  });
}

const bare = (value) => value.replace(/^agent:/, "");

function keys(e, f, input) {
  const list = options();
  const all = [...list.children];
  const i = all.findIndex((o) => o.ariaSelected === "true");
  switch (e.key) {
    case "ArrowDown": case "ArrowUp":
      e.preventDefault();
      if (list.hidden) { offer(input, true); return; }
      mark(input, all[(i + (e.key === "ArrowDown" ? 1 : i < 0 ? 0 : -1) + all.length) % all.length]);
      return;
    case "Enter":
      if (e.ctrlKey || e.metaKey) { take(f); f.requestSubmit(); }
      else if (!list.hidden && i >= 0) choose(f, input, all[i]);
      else take(f);
      e.preventDefault();
      return;
    case "Tab":
      if (!list.hidden && i >= 0 && input.value) choose(f, input, all[i]);
      return;
    case "Escape":
      if (!list.hidden) { hide(input); e.preventDefault(); e.stopPropagation(); }
      return;
    case "Backspace":
      if (!input.value) chipsOf(f).at(-1)?.remove();
  }
}

// offer lists the addresses that match the text: those that begin with it first.
function offer(input, whole) {
  const typed = input.value.trim().toLowerCase();
  const there = new Set(chipsOf(input.form).map((c) => c.querySelector("input").value));
  const room = roomOf(input.form);
  const rank = ({ value, note }) => {
    const v = value.toLowerCase();
    if (bare(v).startsWith(typed) || v.startsWith(typed) || v.split(":").at(-1).startsWith(typed)) return 0;
    return v.includes(typed) ? 1 : note.toLowerCase().includes(typed) ? 2 : 3;
  };
  const fits = known.filter((k) => !(there.has(k.value) && k.base === room) && rank(k) < 3).sort((a, b) => rank(a) - rank(b)).slice(0, 50);
  const list = options();
  list.replaceChildren(...fits.map((k, i) => {
    const o = Object.assign(document.createElement("li"), { id: `compose-option-${i}`, role: "option", ariaSelected: "false" });
    const name = Object.assign(document.createElement("bdi"), { textContent: bare(k.value) });
    const note = Object.assign(document.createElement("span"), { className: "faint", textContent: k.note });
    o.dataset.value = k.value;
    o.dataset.base = k.base;
    o.append(name, note);
    return o;
  }));
  if (!fits.length) { hide(input); return; }
  list.hidden = false;
  input.setAttribute("aria-expanded", "true");
  mark(input, typed || whole ? list.firstElementChild : null);
}

// mark moves the selection, and tells screen readers.
function mark(input, option) {
  for (const o of options().children) o.ariaSelected = String(o === option);
  if (option) input.setAttribute("aria-activedescendant", option.id); else input.removeAttribute("aria-activedescendant");
  option?.scrollIntoView({ block: "nearest" });
}

function hide(input) {
  options().hidden = true;
  input.setAttribute("aria-expanded", "false");
  input.removeAttribute("aria-activedescendant");
}

// choose adds an address. A letter goes to one room, that of the first.
function choose(f, input, { dataset: { value, base } }) {
  input.value = "";
  hide(input);
  if (chipsOf(f).length && base !== roomOf(f)) {
    f.querySelector("#compose-error").innerHTML = '<p class="refused" role="alert">A letter goes to one room, and this address is in another.</p>';
    return;
  }
  goesTo(f, base);
  add(f, value);
}

function goesTo(f, base) { for (const name of ["action", "hx-post"]) f.setAttribute(name, `${base}/compose`); }

const roomOf = (f) => f.getAttribute("action").replace(/\/compose$/, "");

// take makes chips of the text. A known address may contain a comma; otherwise each part becomes a chip.
function take(f) {
  const input = f.querySelector("#compose-to");
  const text = input.value.trim().replace(/,$/, "");
  input.value = "";
  if (!text) return;
  const one = known.find((k) => k.base === roomOf(f) && (k.value === text || bare(k.value) === text));
  for (const value of one ? [one.value] : text.split(",").map((t) => t.trim())) if (value) add(f, value);
}

// add adds a chip: a checkbox that removes it when unticked, as in the page.
function add(f, value) {
  if (chipsOf(f).some((c) => c.querySelector("input").value === value)) return;
  const chip = Object.assign(document.createElement("label"), { className: "chip" });
  const box = Object.assign(document.createElement("input"), { type: "checkbox", name: "to", value, checked: true });
  chip.append(box, Object.assign(document.createElement("bdi"), { textContent: bare(value) }));
  f.querySelector("#compose-to").before(chip);
}

ready();

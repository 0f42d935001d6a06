// What a person does with a letter that is open, or with the row that has the focus: keys, what follows when it is done, and what was typed meanwhile.
import { announce, ask } from "./live.js";
import { close, reload, takeAway } from "./list.js";

// A letter that was opened is read. One in a page that the browser makes ready before anybody asked for it was not
// opened.
function opened() {
  const sign = document.getElementById("opened");
  if (!sign) return;
  if (document.prerendering) {
    document.addEventListener("prerenderingchange", opened, { once: true });
    return;
  }
  sign.remove();
  const letter = document.getElementById("letter");
  const how = { source: letter, target: letter, swap: "outerMorph", values: { id: letter.dataset.id } };
  htmx.ajax("POST", `${document.body.dataset.base}/opened`, how).then(ask);
}
document.addEventListener("htmx:after:swap", opened);
document.addEventListener("DOMContentLoaded", opened); // by when htmx is ready

// The server's toast says of which message it is, and what is to be seen of it.
document.addEventListener("pp-done", () => {
  const toasts = [...document.querySelectorAll("#toasts .toast[data-done]")];
  const { id, done } = toasts.at(-1).dataset;
  for (const earlier of toasts.slice(0, -1)) if (earlier.dataset.id === id) earlier.remove(); // it cannot be undone twice
  const row = document.getElementById(`row-${id}`);
  if (done === "gone") takeAway(id);
  if (done === "back") reload();
  row?.classList.toggle("unread", done === "unread" || done !== "read" && row.matches(".unread"));
  document.getElementById("letter")?.dispatchEvent(new CustomEvent("pp-live"));
});

// On a row that is not open, e and u and Delete act at once, and r and s open it first. rowKey returns what a key does, if it does anything.
export function rowKey(key) {
  const row = document.activeElement?.closest("#list[data-shelf] .row");
  if (!row || row.dataset.id === document.getElementById("letter")?.dataset.id) return undefined;
  const shelf = document.getElementById("list").dataset.shelf;
  const does = {
    e: () => post(row, "/mark", { mark: shelf === "archived" ? "unarchived" : "archived" }),
    u: () => post(row, "/mark", { mark: row.matches(".unread") ? "read" : "unread" }),
    Delete: () => post(row, "/delete", {}),
    r: () => openTo(row, "reply-text", (el) => el.focus()),
    s: () => openTo(row, "act-snooze", (el) => el.click()),
  };
  return does[key];
}

function post(row, path, values) {
  htmx.ajax("POST", document.body.dataset.base + path, { source: row, target: "#toasts", swap: "beforeend", values: { id: row.dataset.id, ...values } });
}

function openTo(row, id, then) {
  const arrived = (e) => {
    if (document.getElementById("letter")?.dataset.id !== row.dataset.id) return;
    document.removeEventListener("htmx:after:swap", arrived);
    const el = document.getElementById(id);
    if (el) then(el);
  };
  document.addEventListener("htmx:after:swap", arrived);
  row.click();
}

// The way back on a phone needs no new page.
document.addEventListener("click", (e) => {
  if (!e.target.closest("[data-do=back]") || e.ctrlKey || e.metaKey || !document.getElementById("list")) return;
  e.preventDefault();
  close();
});

// A menu has the focus while it is open, and what opened it has it again afterwards, as the browser does by itself.
document.addEventListener("toggle", (e) => {
  if (!e.target.matches?.(".menu")) return;
  e.target.toggleAttribute("hx-morph-skip", e.newState === "open"); // a live part that changes leaves it alone
  if (e.newState === "open") focusMenu(e.target);
}, true);
document.addEventListener("htmx:after:swap", () => {
  const menu = document.querySelector(".menu:popover-open");
  if (menu && document.activeElement === document.body) focusMenu(menu);
});
document.addEventListener("submit", (e) => e.target.closest?.("[popover]")?.hidePopover(), true);

function focusMenu(menu) { menu.querySelector("button, input:not([type=hidden])")?.focus(); }

// What is copied is selected too, for browsers that do not let pages copy.
document.addEventListener("click", async (e) => {
  const from = document.getElementById(e.target.closest("[data-copy]")?.dataset.copy);
  if (!from) return;
  getSelection().selectAllChildren(from);
  let copied = true;
  try {
    await navigator.clipboard.writeText(from.textContent);
  } catch {
    copied = document.execCommand("copy");
  }
  const said = from.closest(".menu")?.querySelector(".copied");
  const text = copied ? "Copied." : "Copy the line that is selected.";
  if (said) said.textContent = ` ${text}`;
  announce(text);
});

// What was typed for a letter is there again when the person comes back to it. It is forgotten when it is sent, and with the browser's tab.
const draft = (el) => `draft ${document.body.dataset.base} ${el.form.elements.reply_to.value}`;

document.addEventListener("input", (e) => {
  if (!e.target.matches?.("[data-draft]")) return;
  if (e.target.value) sessionStorage.setItem(draft(e.target), e.target.value);
  else sessionStorage.removeItem(draft(e.target));
});
document.addEventListener("pp-sent", (e) => {
  const el = e.target.querySelector?.("[data-draft]");
  if (el) sessionStorage.removeItem(draft(el));
  document.getElementById("letter")?.dispatchEvent(new CustomEvent("pp-live")); // no second answer while the stream is slow
  if (e.target.matches?.(".choices")) document.getElementById("card").focus(); // the button goes, and the answer is told there
});
function restore() {
  const el = document.querySelector("[data-draft]");
  if (el && !el.value && document.activeElement !== el) el.value = sessionStorage.getItem(draft(el)) ?? "";
}
document.addEventListener("htmx:after:swap", restore);
restore();

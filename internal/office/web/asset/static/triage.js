// Actions on the open letter, on the row with the focus or on selected rows: keys, buttons, and the page's response.
import { ask } from "./live.js";
import { forget } from "./drafts.js";
import { close, current, reload, takeAway } from "./list.js";
import { extend, part, pick, pickedRows, unpick } from "./select.js";

// Opening a letter reads it. A page that the browser prerenders was not
// opened yet.
function opened() {
  const sign = document.getElementById("opened");
  if (!sign) return;
  if (document.prerendering) {
    document.addEventListener("prerenderingchange", opened, { once: true });
    return;
  }
  sign.remove();
  const letter = document.getElementById("letter");
  const how = { source: letter, target: letter, swap: "outerMorph", values: { messages: sign.dataset.messages } };
  htmx.ajax("POST", `${letter.dataset.base}/opened`, how).then(ask);
}
document.addEventListener("htmx:after:swap", opened);
document.addEventListener("DOMContentLoaded", opened); // htmx is ready by then

// A late response for a closed letter must not replace the open one.
document.addEventListener("htmx:before:swap", (e) => {
  const { ctx } = e.detail;
  const letter = document.getElementById("letter");
  if (!letter || ctx?.target?.id !== "letter") return;
  const fresh = new DOMParser().parseFromString(ctx.text, "text/html").getElementById("letter");
  if (fresh?.dataset.id && fresh.dataset.id !== letter.dataset.id) e.preventDefault();
});

// The server's toast names its messages, and the change to show.
document.addEventListener("pp-done", (e) => {
  e.target.closest?.(".toast")?.remove(); // its undo was pressed
  const toasts = [...document.querySelectorAll("#toasts .toast[data-done]")];
  const { messages, done, typed } = toasts.at(-1).dataset;
  for (const earlier of toasts.slice(0, -1)) if (earlier.dataset.messages === messages) earlier.remove(); // it can be undone only once
  if (done === "back") return back(messages, typed);
  if (done === "settled") return settled(e.target);
  if (done === "away") return; // the switch refreshes itself
  if (done === "answered") answered = { messages, open: messages === letterLine() };
  if (done !== "replied" && document.getElementById("list")) mark(messages, done);
  else live();
});

const live = () => document.getElementById("letter")?.dispatchEvent(new CustomEvent("pp-live"));

// settled shows the result of answering a dialog. The person must open the next one, so that pressing a key twice does not answer an unseen dialog.
function settled(form) {
  const letter = form.closest("#letter");
  if (letter) forget(letter);
  live();
  reload();
}

// Whether a dialog can be answered here may change without an event, when its hook starts or ends.
setInterval(() => {
  if (document.hidden) return;
  for (const part of ["#letter[data-again]", "#rows:has([data-again])"]) document.querySelector(part)?.dispatchEvent(new CustomEvent("pp-live"));
}, 2_000);

// A dialog without its text must not be answered: two crossing refreshes could leave only the answers.
document.addEventListener("htmx:after:swap", () => {
  const answers = document.querySelector("#letter:not(.over) > .what-is-asked:empty ~ .says");
  if (!answers) return;
  answers.remove();
  location.reload();
});

// Unsent text for a closed dialog stays visible.
let unsent;
document.addEventListener("htmx:before:swap", () => {
  const typed = [...document.querySelectorAll("#letter.dialog [data-draft]")].map((el) => el.value).filter(Boolean);
  if (typed.length) unsent = { id: document.getElementById("letter").dataset.id, text: typed.join("\n\n") };
});
document.addEventListener("htmx:after:swap", () => {
  const over = document.querySelector("#letter.over");
  if (!over || unsent?.id !== over.dataset.id) return;
  const place = over.querySelector(".typed-there");
  place.querySelector("pre").textContent = unsent.text;
  place.hidden = false;
});

// mark shows the change of rows.
function mark(messages, done) {
  const slots = slotsOf(messages);
  unpick();
  if (done === "gone" || done === "answered") {
    takeAway(slots, done === "answered", messages.split("\n").includes(letterLine()));
    if (done === "gone" && slots.some((s) => s.querySelector("[data-asks]"))) reload(); // an open question stays visible
    return;
  }
  for (const slot of slots) slot.querySelector(".row").classList.toggle("unread", done === "unread");
  if (slots.some((s) => s.matches(".folds"))) reload();
  live();
}

let answered = {}; // the last answer, and whether its letter was open

// back shows an undone action: an answered letter that was open opens again, with the typed text.
function back(messages, typed) {
  if (messages && messages === letterLine()) {
    if (typed) write(typed);
  } else if (typed || answered.messages === messages && answered.open) {
    whenThere(messages, (row) => {
      if (typed) whenOpen(row, () => write(typed));
      row.focus();
      row.click();
    });
  } else if (messages) {
    whenThere(messages, (row) => row.focus());
  }
  live();
  reload();
}

// letterLine names the open letter as forms do.
function letterLine() {
  const letter = document.getElementById("letter");
  return letter?.dataset.id && `${letter.dataset.base.slice(2)}/${letter.dataset.id}`;
}

function write(text) {
  const field = document.getElementById("reply-text");
  if (!field) return;
  field.value = text;
  field.focus();
  field.dispatchEvent(new Event("input", { bubbles: true }));
}

// slotsOf are the list's rows that contain one of the messages.
function slotsOf(messages) {
  const named = new Set(messages.split("\n"));
  return [...document.querySelectorAll("#list .slot")].filter((s) => s.dataset.messages.split("\n").some((m) => named.has(m)));
}

function whenThere(messages, then) {
  const look = () => {
    const row = slotsOf(messages)[0]?.querySelector(".row");
    if (!row) return;
    document.removeEventListener("htmx:after:swap", look);
    then(row);
  };
  document.addEventListener("htmx:after:swap", look);
}

// rowKey returns a key's action on the selected rows, or else on the row with the focus, if it has one. The letter's own buttons handle the open letter.
export function rowKey(key) {
  const article = document.activeElement?.closest(".thread .post");
  if (article && key === "r") return () => article.querySelector(".answer-to").click();
  if (!document.querySelector("#list[data-shelf]")) return undefined;
  if (document.querySelector(".panes.focus")) return undefined;
  const row = current();
  const inList = document.activeElement?.closest("#list .slot");
  const decline = key === "x" && (!inList || row?.matches("[aria-current]")) && document.querySelector('#letter [data-key="x"]');
  const selects = { x: row && !decline && (() => pick(row)), J: () => extend(1), K: () => extend(-1), "*": part };
  if (selects[key]) return selects[key];
  const does = { e: "archive", u: "read", s: "snooze", Delete: "delete" }[key];
  const some = pickedRows();
  if (does && some.length) return () => act(does, some);
  const focused = document.activeElement?.closest("#list .slot")?.querySelector(".row");
  if (!focused || focused.dataset.id && focused.dataset.id === document.getElementById("letter")?.dataset.id) return undefined;
  if (focused.closest(".asked")) return does || /^[1-9ar]$/.test(key) ? () => { if (!does) focused.click(); } : undefined; // open it first, so that the person sees all of it
  if (does) return () => act(does, [focused]);
  if (key === "r" && focused.dataset.id) return () => openTo(focused, "reply-text", (el) => el.focus());
  if (/^[1-9]$/.test(key) && Number(key) <= Number(focused.dataset.asks)) return () => post([focused], "/answer", { reply_to: focused.dataset.id, n: key });
  if (/^[1-9]$/.test(key) && document.querySelector("#letter.dialog")) return () => {}; // a digit on another row must not answer the open dialog
  return undefined;
}

// act carries out an action on rows.
function act(what, rows) {
  const archived = document.getElementById("list").dataset.shelf === "archived";
  switch (what) {
    case "archive": return post(rows, "/mark", { mark: archived ? "unarchived" : "archived" });
    case "read": return post(rows, "/mark", { mark: rows.some((r) => r.matches(".unread")) ? "read" : "unread" });
    case "delete": return post(rows, "/delete", {});
    case "snooze": return snooze(rows);
  }
}

const messagesOf = (rows) => rows.map((r) => r.closest(".slot").dataset.messages).join("\n");

function post(rows, path, values) {
  htmx.ajax("POST", rows[0].dataset.base + path, { source: rows[0], target: "#toasts", swap: "beforeend", values: { messages: messagesOf(rows), ...values } });
}

// snooze opens the menu of times.
function snooze(rows) {
  const menu = document.getElementById("snooze-rows");
  for (const field of menu.querySelectorAll("[name=messages]")) field.value = messagesOf(rows);
  menu.showPopover();
}

document.addEventListener("click", (e) => {
  const button = e.target.closest("#list [data-act]");
  if (!button) return;
  const slot = button.closest(".slot");
  if (button.dataset.act === "none") unpick(); else act(button.dataset.act, slot ? [slot.querySelector(".row")] : pickedRows());
});

function whenOpen(row, then) {
  const arrived = () => {
    if (document.getElementById("letter")?.dataset.id !== row.dataset.id) return;
    document.removeEventListener("htmx:after:swap", arrived);
    then();
  };
  document.addEventListener("htmx:after:swap", arrived);
}

function openTo(row, id, then) {
  whenOpen(row, () => {
    const el = document.getElementById(id);
    if (el) then(el);
  });
  row.click();
}

// Back on a phone needs no new page.
document.addEventListener("click", (e) => {
  if (!e.target.closest("[data-do=back]") || e.ctrlKey || e.metaKey || !document.getElementById("list")) return;
  e.preventDefault();
  close();
});

// An open menu has the focus, which returns to its opener afterwards, as browsers do.
document.addEventListener("toggle", (e) => {
  if (!e.target.matches?.(".menu")) return;
  e.target.toggleAttribute("hx-morph-skip", e.newState === "open"); // refreshes must not replace an open menu
  if (e.newState === "open") focusMenu(e.target);
}, true);
document.addEventListener("htmx:after:swap", () => {
  const menu = document.querySelector(".menu:popover-open");
  if (menu && document.activeElement === document.body) focusMenu(menu);
});
document.addEventListener("submit", (e) => e.target.closest?.("[popover]")?.hidePopover(), true);

function focusMenu(menu) { menu.querySelector("button, input:not([type=hidden])")?.focus(); }

document.addEventListener("pp-done", (e) => {
  if (e.target.matches?.(".choices")) document.getElementById("card")?.focus(); // the button disappears, and the card shows the answer
}, true);

// What a person does with a letter that is open, with the row that has the focus, or with those that are selected: keys, buttons, and what follows when it is done.
import { ask } from "./live.js";
import { forget } from "./drafts.js";
import { close, current, reload, takeAway } from "./list.js";
import { extend, part, pick, pickedRows, unpick } from "./select.js";

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
  const how = { source: letter, target: letter, swap: "outerMorph", values: { messages: sign.dataset.messages } };
  htmx.ajax("POST", `${letter.dataset.base}/opened`, how).then(ask);
}
document.addEventListener("htmx:after:swap", opened);
document.addEventListener("DOMContentLoaded", opened); // by when htmx is ready

// What comes late of a letter that is not open any more stays away from the one that is.
document.addEventListener("htmx:before:swap", (e) => {
  const { ctx } = e.detail;
  const letter = document.getElementById("letter");
  if (!letter || ctx?.target?.id !== "letter") return;
  const fresh = new DOMParser().parseFromString(ctx.text, "text/html").getElementById("letter");
  if (fresh?.dataset.id && fresh.dataset.id !== letter.dataset.id) e.preventDefault();
});

// The server's toast names the messages that it is about, and says what is to be seen of them.
document.addEventListener("pp-done", (e) => {
  e.target.closest?.(".toast")?.remove(); // whose undo was pressed
  const toasts = [...document.querySelectorAll("#toasts .toast[data-done]")];
  const { messages, done, typed } = toasts.at(-1).dataset;
  for (const earlier of toasts.slice(0, -1)) if (earlier.dataset.messages === messages) earlier.remove(); // it cannot be undone twice
  if (done === "back") return back(messages, typed);
  if (done === "settled") return settled(e.target);
  if (done === "away") return; // the switch asks for itself
  if (done === "answered") answered = { messages, open: messages === letterLine() };
  if (done !== "replied" && document.getElementById("list")) mark(messages, done);
  else live();
});

const live = () => document.getElementById("letter")?.dispatchEvent(new CustomEvent("pp-live"));

// settled shows what became of a dialog that the person has answered. The next one is opened by the person alone: a key that is pressed twice answers no dialog that nobody has seen.
function settled(form) {
  const letter = form.closest("#letter");
  if (letter) forget(letter);
  live();
  reload();
}

// Whether a dialog can be answered from here may change without an event: its hook has come, or has gone.
setInterval(() => {
  if (document.hidden) return;
  for (const part of ["#letter[data-again]", "#rows:has([data-again])"]) document.querySelector(part)?.dispatchEvent(new CustomEvent("pp-live"));
}, 2_000);

// Nothing is answered of which the text is not there: two refreshes that crossed could leave answers alone.
document.addEventListener("htmx:after:swap", () => {
  const answers = document.querySelector("#letter:not(.over) > .what-is-asked:empty ~ .says");
  if (!answers) return;
  answers.remove();
  location.reload();
});

// What was typed for a dialog that is over is shown, though it goes nowhere.
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

// mark shows what was done with rows.
function mark(messages, done) {
  const slots = slotsOf(messages);
  unpick();
  if (done === "gone" || done === "answered") {
    takeAway(slots, done === "answered", messages.split("\n").includes(letterLine()));
    if (done === "gone" && slots.some((s) => s.querySelector("[data-asks]"))) reload(); // an open question stays in sight
    return;
  }
  for (const slot of slots) slot.querySelector(".row").classList.toggle("unread", done === "unread");
  if (slots.some((s) => s.matches(".folds"))) reload();
  live();
}

let answered = {}; // the last answer: whether its letter was open

// back shows what was taken back: an answered letter that was open is open again, with the text that was typed.
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

// letterLine is how forms name the open letter.
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

// slotsOf are the places in the list that show one of the messages.
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

// rowKey returns what a key does with the rows that are selected, or else with the row that has the focus, if it does anything. What is open is dealt with by the letter's own buttons.
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
  if (focused.closest(".asked")) return does || /^[1-9ar]$/.test(key) ? () => { if (!does) focused.click(); } : undefined; // it is answered when it is open, and all of it is seen
  if (does) return () => act(does, [focused]);
  if (key === "r" && focused.dataset.id) return () => openTo(focused, "reply-text", (el) => el.focus());
  if (/^[1-9]$/.test(key) && Number(key) <= Number(focused.dataset.asks)) return () => post([focused], "/answer", { reply_to: focused.dataset.id, n: key });
  if (/^[1-9]$/.test(key) && document.querySelector("#letter.dialog")) return () => {}; // who looks at another row does not answer the dialog that is open
  return undefined;
}

// act does something with rows.
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

// snooze asks until when.
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

document.addEventListener("pp-done", (e) => {
  if (e.target.matches?.(".choices")) document.getElementById("card")?.focus(); // the button goes, and the answer is told there
}, true);

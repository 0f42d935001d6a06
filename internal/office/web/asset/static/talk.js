// A conversation opens at its newest message. New messages scroll into view if the person is at the end, else a pill counts them.
import { announce } from "./live.js";

const talk = () => document.getElementById("talk");
const newest = (el) => Math.max(0, ...[...el.querySelectorAll("[data-seq]")].map((p) => Number(p.dataset.seq))); // by arrival, which differs from the order here
const below = (el) => el.scrollHeight - el.scrollTop - el.clientHeight;
let was; // the scroll position before the refresh

function toEnd(el) { el.scrollTop = el.scrollHeight; }

if (talk() && !location.hash) toEnd(talk());

document.addEventListener("htmx:before:swap", (e) => {
  const el = talk();
  if (!el || e.detail.ctx?.target !== el) return;
  was = { below: below(el), rest: el.scrollHeight - el.scrollTop, newest: newest(el), earlier: e.detail.ctx.sourceElement?.id === "earlier" };
});

document.addEventListener("htmx:after:swap", (e) => {
  if (e.detail.ctx?.target?.id === "writing") return write();
  const el = talk();
  if (!el || !was) return;
  const { earlier, rest, below: distance, newest: last } = was;
  was = undefined;
  if (earlier) { el.scrollTop = el.scrollHeight - rest; return; }
  const fresh = [...el.querySelectorAll("[data-seq]")].filter((p) => Number(p.dataset.seq) > last);
  if (!fresh.length) return;
  announce(`${fresh.length} new`);
  const end = el.getBoundingClientRect().bottom;
  const under = fresh.filter((p) => p.getBoundingClientRect().bottom > end); // late arrivals may be further up
  if (distance < 80) toEnd(el); else if (under.length) more(under.length);
});

// more offers to scroll down to the new messages.
function more(n) {
  let pill = document.getElementById("talk-pill");
  if (!pill) {
    pill = Object.assign(document.createElement("button"), { type: "button", id: "talk-pill", className: "talk-pill" });
    pill.addEventListener("click", () => { toEnd(talk()); pill.remove(); });
    document.getElementById("writing")?.prepend(pill);
  }
  pill.dataset.n = Number(pill.dataset.n ?? 0) + n;
  pill.textContent = `${pill.dataset.n} new ↓`;
}

document.addEventListener("scroll", (e) => {
  if (e.target.id === "talk" && below(e.target) < 80) document.getElementById("talk-pill")?.remove();
}, true);

// write focuses the box when the person answers.
function write() {
  document.querySelector("#writing textarea")?.focus();
}

// After an answer the box answers nothing any more. The person's own message is always scrolled to.
document.addEventListener("pp-sent", (e) => {
  if (!e.target.closest?.("#writing")) return;
  e.target.querySelector("[data-plain]")?.click();
  if (talk()) toEnd(talk());
});

// A conversation stands at its newest message. What is said meanwhile follows if one reads there, and waits below if one reads further up.
import { announce } from "./live.js";

const talk = () => document.getElementById("talk");
const newest = (el) => Math.max(0, ...[...el.querySelectorAll("[data-seq]")].map((p) => Number(p.dataset.seq))); // by arrival, which is not the order here
const below = (el) => el.scrollHeight - el.scrollTop - el.clientHeight;
let was; // how the conversation stood before it was got again

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
  const under = fresh.filter((p) => p.getBoundingClientRect().bottom > end); // what was sent long ago stands further up
  if (distance < 80) toEnd(el); else if (under.length) more(under.length);
});

// more offers to go down to what was said meanwhile.
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

// write goes to the box when somebody chose to answer.
function write() {
  document.querySelector("#writing textarea")?.focus();
}

// What answered a message was sent: what is written next answers nothing. One's own message is always gone to.
document.addEventListener("pp-sent", (e) => {
  if (!e.target.closest?.("#writing")) return;
  e.target.querySelector("[data-plain]")?.click();
  if (talk()) toEnd(talk());
});

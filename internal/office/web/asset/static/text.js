// Times are updated, code is highlighted, and buttons copy code. The highlighter is loaded with the first code.
import { announce } from "./live.js";

const { highlight } = document.body.dataset;
const nonce = document.querySelector("script[nonce]").nonce;
let fetched;

function colour() {
  const blocks = document.querySelectorAll('pre code[class*="language-"]:not([data-highlighted])');
  if (!blocks.length) return;
  fetched ??= new Promise((done, failed) => {
    const script = Object.assign(document.createElement("script"), { src: highlight, nonce, onload: done, onerror: failed });
    document.head.append(script);
  });
  fetched.then(() => { for (const b of blocks) if (!b.dataset.highlighted) hljs.highlightElement(b); }, () => {});
}

document.addEventListener("htmx:after:swap", colour);
colour();

// Content wider than its place can be scrolled with keys.
function reachable() {
  for (const el of document.querySelectorAll(".markdown pre, .markdown table")) if (el.scrollWidth > el.clientWidth) el.tabIndex = 0;
}
document.addEventListener("htmx:after:swap", reachable);
reachable();

// A button copies the element that it names or else the code after it, without the last line end, which would run it in a terminal. The text is also selected, for browsers that do not let pages copy.
document.addEventListener("click", async (e) => {
  const button = e.target.closest("[data-copy]");
  const from = button?.dataset.copy ? document.getElementById(button.dataset.copy) : button?.nextElementSibling;
  if (!from) return;
  getSelection().selectAllChildren(from);
  let copied = true;
  try {
    await navigator.clipboard.writeText(from.textContent.replace(/\n$/, ""));
  } catch {
    copied = document.execCommand("copy");
  }
  const text = copied ? "Copied." : "Copy the selected line.";
  announce(text);
  const said = from.closest(".menu")?.querySelector(".copied");
  if (said) said.textContent = ` ${text}`;
  if (!copied || !button.matches(".copy")) return;
  button.firstChild.data = "Copied";
  setTimeout(() => { button.firstChild.data = "Copy"; }, 2_000);
});

function ago(ms) {
  if (ms < 60e3) return "now";
  if (ms < 3600e3) return `${Math.floor(ms / 60e3)}m`;
  if (ms < 86400e3) return `${Math.floor(ms / 3600e3)}h`;
  return ms < 7 * 86400e3 ? `${Math.floor(ms / 86400e3)}d` : "";
}

setInterval(() => {
  for (const t of document.querySelectorAll("time[data-ago]")) {
    const text = ago(Date.now() - new Date(t.dateTime));
    if (text && t.textContent !== text) t.textContent = text;
  }
}, 30_000);

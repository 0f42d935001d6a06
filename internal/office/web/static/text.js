// Times stay true, and code gets its colours: the highlighter is fetched when the first code is shown.
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

// What is wider than its place can be scrolled by keys too.
function reachable() {
  for (const el of document.querySelectorAll(".markdown pre, .markdown table")) if (el.scrollWidth > el.clientWidth) el.tabIndex = 0;
}
document.addEventListener("htmx:after:swap", reachable);
reachable();

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

// The browser stores which rooms the pages show. A page over all rooms is refreshed by changes in any other room; live.js handles its own.
document.addEventListener("click", (e) => {
  const link = e.target.closest("a[data-scope]");
  if (link) document.cookie = `pp_scope=${link.dataset.scope}; path=/; max-age=31536000; samesite=strict`;
});

const pace = 1_000; // the least time between refreshes
let waiting;

document.addEventListener("pp-change", (e) => {
  if (!JSON.parse(e.detail.data).desk || waiting) return;
  waiting = setTimeout(() => {
    waiting = undefined;
    if (document.hidden) return document.addEventListener("visibilitychange", look, { once: true });
    look();
  }, pace);
});

function look() {
  for (const part of document.querySelectorAll('[data-all-rooms][hx-trigger~="pp-live"]')) part.dispatchEvent(new CustomEvent("pp-live"));
}

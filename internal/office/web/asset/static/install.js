// The pages in their system: the browser's frame has the theme's colour, the installed app shows the title's count, and a worker replaces pages that cannot be fetched.
function shade() {
  const color = getComputedStyle(document.querySelector(".top")).backgroundColor;
  for (const meta of document.querySelectorAll("meta[name=theme-color]")) meta.content = color;
}
new MutationObserver(shade).observe(document.documentElement, { attributeFilter: ["data-theme"] });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", shade);

function badge() {
  const n = Number(/^\((\d+)\)/.exec(document.title)?.[1] ?? 0);
  (n ? navigator.setAppBadge?.(n) : navigator.clearAppBadge?.())?.catch(() => {}); // no app is installed
}
new MutationObserver(badge).observe(document.querySelector("title"), { childList: true });
badge();

// Browsers refuse workers at addresses that they do not trust.
addEventListener("load", () => navigator.serviceWorker?.register("/worker.js").catch(() => {}));

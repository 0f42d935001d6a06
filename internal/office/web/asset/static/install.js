// What the pages are to the system around the browser: the frame has the colour of the theme, the app that was installed shows the number of the title, and a worker stands in for a page that cannot be fetched.
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

// A browser refuses a worker where it does not trust the address.
addEventListener("load", () => navigator.serviceWorker?.register("/worker.js").catch(() => {}));

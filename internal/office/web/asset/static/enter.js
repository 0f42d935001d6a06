// A person who is not logged in requested a page, or the session ended there. The link that logs in opens another tab, so the browser stores the page, and both tabs return to it.
const place = "pennypost-place";
const long = 600_000; // the life of a link
const form = document.getElementById("enter");

// Opening the link means logging in. A page that the browser prerenders waits until
// it is shown.
function enter() {
  const { path, at } = JSON.parse(localStorage.getItem(place)) ?? {};
  localStorage.removeItem(place);
  if (Date.now() - at < long) form.elements.next.value = path;
  if ("press" in form.dataset) form.requestSubmit();
}

function stay() {
  if (document.hidden) return;
  if (!["/", "/login"].includes(location.pathname)) localStorage.setItem(place, JSON.stringify({ path: location.pathname + location.search + location.hash, at: Date.now() }));
}

async function look() {
  stay();
  const inside = await fetch(location.href, { method: "HEAD", headers: { "Pennypost-Live": "1" } }).then((a) => a.ok, () => false);
  if (inside) location.reload();
}

if (!form) {
  stay();
  for (const sign of ["visibilitychange", "focus"]) addEventListener(sign, look);
} else if (document.prerendering) document.addEventListener("prerenderingchange", enter, { once: true });
else enter();

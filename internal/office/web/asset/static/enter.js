// Who is not logged in has come to some page, or was at one when the session ended. The link that logs in opens in another tab, so where they were is kept in the browser, and both tabs come back to it.
const place = "pennypost-place";
const long = 600_000; // in which a link is used, or has ended
const form = document.getElementById("enter");

// Whoever opened the link wanted to come in. A page that the browser makes ready before anybody asked for it waits
// until it is looked at.
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

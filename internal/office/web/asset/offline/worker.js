// The worker has one page, and shows it where the browser would show its own error: in the place of a page that could
// not be fetched. It stores nothing, and everything else goes to the post office without it. A navigation that posts
// something passes it by, too: whether that may bring the login along is for the browser alone to decide.
const page = "PAGE";
const policy = "POLICY";

addEventListener("install", () => skipWaiting());
addEventListener("activate", (e) => e.waitUntil(registration.navigationPreload?.enable()));
addEventListener("fetch", (e) => {
  if (e.request.mode === "navigate" && e.request.destination === "document" && e.request.method === "GET") e.respondWith(open(e));
});

// open takes the answer that the browser itself has asked for meanwhile, so that the worker costs no time.
async function open({ request, preloadResponse }) {
  try {
    return await preloadResponse ?? await fetch(request);
  } catch {
    return new Response(page, { status: 503, headers: { "Content-Type": "text/html; charset=utf-8", "Content-Security-Policy": policy, "Cache-Control": "no-store" } });
  }
}

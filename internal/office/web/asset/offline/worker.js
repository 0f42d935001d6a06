// The worker shows its one page in place of the browser's own error, when a page cannot be fetched. It stores nothing,
// and all other requests bypass it. So does a navigation that posts a form: only the browser may decide whether that
// carries the login.
const page = "PAGE";
const policy = "POLICY";

addEventListener("install", () => skipWaiting());
addEventListener("activate", (e) => e.waitUntil(registration.navigationPreload?.enable()));
addEventListener("fetch", (e) => {
  if (e.request.mode === "navigate" && e.request.destination === "document" && e.request.method === "GET") e.respondWith(open(e));
});

// open uses the response that the browser has preloaded, so that the worker costs no time.
async function open({ request, preloadResponse }) {
  try {
    return await preloadResponse ?? await fetch(request);
  } catch {
    return new Response(page, { status: 503, headers: { "Content-Type": "text/html; charset=utf-8", "Content-Security-Policy": policy, "Cache-Control": "no-store" } });
  }
}

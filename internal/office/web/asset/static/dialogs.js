// A dialog from the server is opened when it arrives, and removed when it closes.
document.addEventListener("htmx:after:swap", () => {
  const dialog = document.querySelector("#dialog > dialog:not([open])");
  if (!dialog) return;
  dialog.addEventListener("close", () => dialog.remove());
  dialog.showModal();
});
document.addEventListener("click", (e) => {
  if (e.target.matches("dialog")) e.target.close(); // a click outside
});

// A submitted form is cleared, and the page shows the result. Ctrl or Command with Enter sends.
for (const event of ["pp-sent", "pp-done"]) document.addEventListener(event, (e) => sent(e.target));

export function sent(el) {
  const form = el.closest?.("form[data-reset]");
  form?.reset();
  if (form?.elements.key) form.elements.key.value = [...crypto.getRandomValues(new Uint32Array(4))].join(""); // the next text is another message
  el.closest?.("dialog")?.close();
}
document.addEventListener("keydown", (e) => {
  if (e.key === "Enter" && (e.ctrlKey || e.metaKey) && e.target.matches("[data-submit]")) e.target.form.requestSubmit();
});

// A toast disappears after its time.
new MutationObserver((changes) => {
  for (const toast of changes.flatMap((c) => [...c.addedNodes]).filter((n) => n.classList?.contains("toast"))) {
    setTimeout(() => toast.remove(), Number(toast.dataset.ms ?? 8_000));
  }
}).observe(document.getElementById("toasts"), { childList: true });

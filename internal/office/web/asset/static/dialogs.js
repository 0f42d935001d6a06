// A dialog that the server sent is shown as soon as it is there, and taken away when it closes.
document.addEventListener("htmx:after:swap", () => {
  const dialog = document.querySelector("#dialog > dialog:not([open])");
  if (!dialog) return;
  dialog.addEventListener("close", () => dialog.remove());
  dialog.showModal();
});
document.addEventListener("click", (e) => {
  if (e.target.matches("dialog")) e.target.close(); // beside it
});

// A form that was sent is empty again, and the page shows what came of it. Ctrl or Command with Enter sends.
for (const event of ["pp-sent", "pp-done"]) document.addEventListener(event, (e) => sent(e.target));

export function sent(el) {
  const form = el.closest?.("form[data-reset]");
  form?.reset();
  if (form?.elements.key) form.elements.key.value = [...crypto.getRandomValues(new Uint32Array(4))].join(""); // what is written next is another message
  el.closest?.("dialog")?.close();
}
document.addEventListener("keydown", (e) => {
  if (e.key === "Enter" && (e.ctrlKey || e.metaKey) && e.target.matches("[data-submit]")) e.target.form.requestSubmit();
});

// A toast goes by itself, after the time that it says.
new MutationObserver((changes) => {
  for (const toast of changes.flatMap((c) => [...c.addedNodes]).filter((n) => n.classList?.contains("toast"))) {
    setTimeout(() => toast.remove(), Number(toast.dataset.ms ?? 8_000));
  }
}).observe(document.getElementById("toasts"), { childList: true });

// Notifications of mail while the person is not looking. They are off until turned on in this browser, which then asks for permission.
const setting = "pennypost-notify", last = "pennypost-notified";

const on = () => localStorage.getItem(setting) === "on" && globalThis.Notification?.permission === "granted";

document.addEventListener("click", (e) => { if (e.target.closest("[data-do=notify]")) turn(); });

async function turn() {
  if (on()) {
    localStorage.setItem(setting, "off");
    tell("Notifications are off.");
  } else if (await globalThis.Notification?.requestPermission() === "granted") {
    localStorage.setItem(setting, "on");
    tell("Mail to you and the dialogs of agents are announced while this page is in the background.");
  } else {
    tell("The browser blocks notifications here. See its settings for this page.");
  }
  show();
}

function tell(text) {
  const toast = document.createElement("div");
  toast.className = "toast";
  toast.textContent = text;
  document.getElementById("toasts").append(toast);
}

function show() {
  for (const button of document.querySelectorAll("[data-do=notify][aria-checked]")) button.ariaChecked = String(on());
}

// Only the first of several open pages notifies; a visible page has shown the change already.
document.addEventListener("pp-arrived", (e) => {
  const { id, href, room, from, subject } = e.detail;
  const told = localStorage.getItem(last) === id;
  localStorage.setItem(last, id);
  if (!document.hidden || told || !on()) return;
  const note = new Notification(`${from}: ${subject}`, { tag: id, icon: "/favicon.svg", body: `in ${room}` });
  note.onclick = () => {
    note.close();
    focus();
    if (![...document.querySelectorAll("textarea")].some((t) => t.value)) location.assign(href ?? `/@${encodeURIComponent(room)}/?m=${encodeURIComponent(id)}`); // keep typed text
  };
});

show();

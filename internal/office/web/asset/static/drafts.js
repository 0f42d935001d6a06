// Drafts are stored in this browser until they are sent or discarded. Each tab has its own, so that tabs do not overwrite each other; opening a letter continues the newest draft of a closed tab.
const fresh = () => Math.random().toString(36).slice(2);
const tab = fresh();
let leave; // releases the lock that shows that the tab is open
const nameOf = (el) => `${el.form.getAttribute("action").replace(/\/\w+$/, "")} ${el.dataset.draft || el.form.elements.reply_to.value}`;

function stay() { navigator.locks?.request(`draft ${tab}`, () => new Promise((done) => { leave = done; })); }
stay();
addEventListener("pagehide", () => leave?.());
addEventListener("pageshow", (e) => { if (e.persisted) stay(); });

const own = (name) => JSON.parse(localStorage.getItem(`draft ${tab} ${name}`))?.value;

// keep stores a draft under a name, or removes it; aside: as if its tab were closed.
export function keep(name, value, aside) {
  const key = `draft ${aside ? fresh() : tab} ${name}`;
  if (value) localStorage.setItem(key, JSON.stringify({ at: Date.now(), value })); else localStorage.removeItem(key);
}

// others returns the drafts of other tabs under a name, newest first, and whether each tab is open. At an untrusted address the browser does not say, and each tab counts as closed, so a draft taken from an open tab is then in both.
async function others(name) {
  const there = (await navigator.locks?.query())?.held.map((lock) => lock.name) ?? [];
  const all = Object.keys(localStorage).filter((key) => key.startsWith("draft ") && key.split(" ")[1] !== tab && key.split(" ").slice(2).join(" ") === name);
  return all.map((key) => ({ key, open: there.includes(key.split(" ", 2).join(" ")), ...JSON.parse(localStorage.getItem(key)) })).sort((a, b) => b.at - a.at);
}

// takeOver moves at most that many drafts of closed tabs to this tab, and returns them.
export async function takeOver(name, most = Infinity) {
  const taken = (await others(name)).filter((o) => !o.open).slice(0, most);
  for (const { key } of taken) localStorage.removeItem(key);
  return taken.map((o) => o.value);
}

// goOn writes the draft into a field with write, and says below it if there are more.
export async function goOn(field, name, write, text = (value) => value) {
  if (!field.value && !own(name)) {
    const [kept] = await takeOver(name, 1);
    if (kept) keep(name, kept, field.value); // the field may have text by now
  }
  if (!field.value && own(name)) write(own(name));
  const more = await others(name);
  field.parentElement.querySelector(".other-text")?.remove();
  if (!more.length || !field.isConnected) return;
  const left = more.find((o) => !o.open);
  const say = Object.assign(document.createElement("p"), { className: "other-text faint", textContent: left ? "You also wrote: " : "You are also writing here in another tab." });
  if (left) {
    const button = Object.assign(document.createElement("button"), { type: "button", textContent: `“${text(left.value).slice(0, 40)}”` });
    button.addEventListener("click", () => {
      localStorage.removeItem(left.key);
      if (own(name)) keep(name, own(name), true);
      write(left.value);
      keep(name, left.value);
      field.focus();
      goOn(field, name, write, text);
    });
    say.append(button);
  }
  field.after(say);
}

const shown = new WeakMap(); // fields with the name that each was restored for

// restore fills the new fields of the page; again: all empty fields.
export function restore(again) {
  for (const el of document.querySelectorAll("[data-draft]")) {
    if (!again && shown.get(el) === nameOf(el)) continue;
    shown.set(el, nameOf(el));
    goOn(el, nameOf(el), (value) => { el.value = value; });
  }
}
document.addEventListener("htmx:after:swap", () => restore());
restore();

// written returns a form's text with the name of its draft.
export function written(form) {
  const el = form.querySelector("[data-draft]");
  return el && { name: nameOf(el), value: el.value };
}

document.addEventListener("input", (e) => { if (e.target.matches?.("[data-draft]")) keep(nameOf(e.target), e.target.value); });
document.addEventListener("reset", (e) => forget(e.target));

// forget removes the drafts of a part of the page.
export function forget(part) {
  for (const el of part.querySelectorAll("[data-draft]")) { keep(nameOf(el)); el.value = ""; }
}

// Logging out removes all drafts and the worker from the browser.
document.addEventListener("submit", (e) => {
  if (!e.target.matches?.("[data-leaves]") || e.defaultPrevented) return;
  for (const key of Object.keys(localStorage)) if (key.startsWith("draft ")) localStorage.removeItem(key);
  navigator.serviceWorker?.getRegistration().then((worker) => worker?.unregister());
});

// What is typed is kept in this browser until it is sent or thrown away. Each tab keeps its own, so that none overwrites what another has; who opens a letter goes on with the newest text whose tab is gone.
const fresh = () => Math.random().toString(36).slice(2);
const tab = fresh();
let leave; // lets go of the lock that says that the tab is there
const nameOf = (el) => `${el.form.getAttribute("action").replace(/\/\w+$/, "")} ${el.dataset.draft || el.form.elements.reply_to.value}`;

function stay() { navigator.locks?.request(`draft ${tab}`, () => new Promise((done) => { leave = done; })); }
stay();
addEventListener("pagehide", () => leave?.());
addEventListener("pageshow", (e) => { if (e.persisted) stay(); });

const own = (name) => JSON.parse(localStorage.getItem(`draft ${tab} ${name}`))?.value;

// keep keeps what is written under a name, or nothing; aside: as if its tab were gone.
export function keep(name, value, aside) {
  const key = `draft ${aside ? fresh() : tab} ${name}`;
  if (value) localStorage.setItem(key, JSON.stringify({ at: Date.now(), value })); else localStorage.removeItem(key);
}

// others are what other tabs have kept under a name, the newest first, and whether each is there. At an address that the browser does not trust it does not say so, and each counts as gone: a text that is taken from one that is there is in both then.
async function others(name) {
  const there = (await navigator.locks?.query())?.held.map((lock) => lock.name) ?? [];
  const all = Object.keys(localStorage).filter((key) => key.startsWith("draft ") && key.split(" ")[1] !== tab && key.split(" ").slice(2).join(" ") === name);
  return all.map((key) => ({ key, open: there.includes(key.split(" ", 2).join(" ")), ...JSON.parse(localStorage.getItem(key)) })).sort((a, b) => b.at - a.at);
}

// takeOver returns what was kept under a name by tabs that are gone, up to most, which is this tab's then.
export async function takeOver(name, most = Infinity) {
  const taken = (await others(name)).filter((o) => !o.open).slice(0, most);
  for (const { key } of taken) localStorage.removeItem(key);
  return taken.map((o) => o.value);
}

// goOn shows in a field, by write, what was kept under a name, and says below if there is more.
export async function goOn(field, name, write, text = (value) => value) {
  if (!field.value && !own(name)) {
    const [kept] = await takeOver(name, 1);
    if (kept) keep(name, kept, field.value); // which may have been typed meanwhile
  }
  if (!field.value && own(name)) write(own(name));
  const more = await others(name);
  field.parentElement.querySelector(".other-text")?.remove();
  if (!more.length || !field.isConnected) return;
  const left = more.find((o) => !o.open);
  const say = Object.assign(document.createElement("p"), { className: "other-text faint", textContent: left ? "You wrote something else here, too: " : "You are writing here in another tab, too." });
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

const shown = new WeakMap(); // the fields, and for what each was looked up

// restore fills the fields that are new on the page; again: all that are empty.
export function restore(again) {
  for (const el of document.querySelectorAll("[data-draft]")) {
    if (!again && shown.get(el) === nameOf(el)) continue;
    shown.set(el, nameOf(el));
    goOn(el, nameOf(el), (value) => { el.value = value; });
  }
}
document.addEventListener("htmx:after:swap", () => restore());
restore();

// written is what stands in a form, and under which name it is kept.
export function written(form) {
  const el = form.querySelector("[data-draft]");
  return el && { name: nameOf(el), value: el.value };
}

document.addEventListener("input", (e) => { if (e.target.matches?.("[data-draft]")) keep(nameOf(e.target), e.target.value); });
document.addEventListener("reset", (e) => forget(e.target));

// forget forgets what was typed in a part of the page: it was sent, or goes nowhere.
export function forget(part) {
  for (const el of part.querySelectorAll("[data-draft]")) { keep(nameOf(el)); el.value = ""; }
}

// Who logs out leaves nothing in the browser: no text, and no worker.
document.addEventListener("submit", (e) => {
  if (!e.target.matches?.("[data-leaves]") || e.defaultPrevented) return;
  for (const key of Object.keys(localStorage)) if (key.startsWith("draft ")) localStorage.removeItem(key);
  navigator.serviceWorker?.getRegistration().then((worker) => worker?.unregister());
});

// The picture follows the newest messages as long as its end is in sight, and what was unfolded stays so.
const near = 60; // pixels
let follows = true;
let opened = new Map();

document.addEventListener("scroll", (e) => {
  const el = e.target;
  if (el.id === "flow-scroll") follows = el.scrollHeight - el.scrollTop - el.clientHeight < near;
}, true);

function settle() {
  const picture = document.getElementById("flow-scroll");
  if (picture?.hasAttribute("data-follow") && follows) picture.scrollTop = picture.scrollHeight;
  for (const [id, open] of opened) {
    const el = document.getElementById(id);
    if (el && el.open !== open) el.open = open;
  }
}

document.addEventListener("toggle", (e) => {
  if (e.target.matches("details.deep, details.pairs")) opened.set(e.target.id, e.target.open);
}, true);
document.addEventListener("htmx:after:swap", settle);
settle();

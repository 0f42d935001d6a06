// Whoever opened the link wanted to come in. A page that the browser makes ready before anybody asked for it waits
// until it is looked at.
const enter = () => document.getElementById("enter").requestSubmit();
if (document.prerendering) document.addEventListener("prerenderingchange", enter, { once: true });
else enter();

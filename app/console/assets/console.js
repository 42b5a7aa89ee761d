// Script of the console: live updates, theme and keyboard. All pages work without it, but do not update.
const root = document.documentElement;
const QUIET_MS = 8000; // the server sends an event at least every two seconds
const REFRESH_MS = 1000; // minimum interval between reloads

// --- theme -----------------------------------------------------------------------------------------------------------
const themes = ["auto", "light", "dark"];
const themeButton = document.querySelector("[data-theme-toggle]");
function paint(theme) {
  if (theme === "auto") root.removeAttribute("data-theme");
  else root.setAttribute("data-theme", theme);
  if (themeButton) themeButton.textContent = "Theme: " + theme;
}
// Stored in a cookie, so that the server renders the next page in the theme and it does not flash.
let theme = root.dataset.theme || "auto";
paint(theme);
themeButton?.addEventListener("click", () => {
  theme = themes[(themes.indexOf(theme) + 1) % themes.length];
  document.cookie = "theme=" + theme + "; path=/; max-age=31536000; samesite=strict";
  paint(theme);
});

// --- live parts ------------------------------------------------------------------------------------------------------
const mark = document.querySelector("[data-live-mark]");
const banner = document.querySelector("[data-stale-banner]");
let heard = Date.now();
let version = root.dataset.version || "";
let pending = false, failed = false, over = false, asked = Date.now(), timer = 0;

function clock(ms) { return new Date(ms).toLocaleTimeString(); }
function stale(yes, why) {
  if (yes) {
    document.body.setAttribute("data-stale", "");
    banner.textContent = "This page is outdated: " + why + " It shows the state of " + clock(heard) + ".";
    banner.hidden = false;
    mark.dataset.state = "stale"; mark.textContent = "Outdated";
  } else {
    document.body.removeAttribute("data-stale");
    banner.hidden = true;
    mark.dataset.state = "live"; mark.textContent = "Live";
  }
}

function busy() {
  const focus = document.activeElement;
  return focus && focus.closest("[data-live]") && focus.matches("input, select, textarea") || document.getSelection()?.toString();
}
function path(element) { // selector of the same element in a replaced part
  if (!element) return null;
  if (element.id) return "#" + CSS.escape(element.id);
  const href = element.getAttribute("href");
  return href ? element.localName + '[href="' + CSS.escape(href) + '"]' : null;
}
function choose(select) { // updates the command to the selected option
  const shown = select.form?.querySelector("[data-chosen]");
  if (shown) shown.textContent = select.value;
}
function swap(old, fresh) {
  if (old.outerHTML === fresh.outerHTML) return;
  const open = [...old.querySelectorAll("details[open][id]")].map((one) => one.id);
  const inner = old.contains(document.activeElement) ? path(document.activeElement) : null;
  const chosen = [...old.querySelectorAll("select[id]")].map((one) => [one.id, one.value]);
  const scroll = [...old.querySelectorAll(".scroll, .canvas, .diff")].map((one) => [one.scrollLeft, one.scrollTop]);
  old.replaceWith(fresh);
  for (const id of open) { const one = fresh.querySelector("#" + CSS.escape(id)); if (one) one.open = true; }
  for (const [id, value] of chosen) { const one = fresh.querySelector("#" + CSS.escape(id)); if (one && [...one.options].some((option) => option.value === value)) { one.value = value; choose(one); } }
  fresh.querySelectorAll(".scroll, .canvas, .diff").forEach((one, at) => { if (scroll[at]) [one.scrollLeft, one.scrollTop] = scroll[at]; });
  if (inner) fresh.querySelector(inner)?.focus({ preventScroll: true });
}
function ids(of) { return [...of.querySelectorAll("[data-live]")].map((part) => part.id).join(" "); }
function follow(page) {
  const [old, fresh] = [document.getElementById("content"), page.getElementById("content")];
  if (ids(old) === ids(fresh)) {
    for (const part of old.querySelectorAll("[data-live]")) swap(part, document.importNode(page.getElementById(part.id), true));
    return true;
  }
  // A part was added or removed: replace everything except the result of the last action, unless the user is typing.
  if (document.activeElement?.matches("#content input, #content select, #content textarea")) return false;
  const [said, whole] = [old.querySelector(":scope > .said"), document.importNode(fresh, true)];
  if (said && !whole.querySelector(":scope > .said")) whole.prepend(said);
  swap(old, whole);
  return true;
}
function ended() { over = true; stale(true, "your session has ended. Sign in again."); }
async function refresh() {
  timer = 0;
  if (over) return;
  if (busy()) { timer = setTimeout(refresh, REFRESH_MS); return; }
  pending = true; asked = Date.now();
  try {
    const answer = await fetch(location.href, { headers: { Accept: "text/html" }, cache: "no-store" });
    if (answer.redirected) { ended(); return; } // to the sign-in page
    if (!answer.ok) throw new Error(String(answer.status));
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (!follow(page)) { timer = setTimeout(refresh, REFRESH_MS); return; }
    root.dataset.refresh = page.documentElement.dataset.refresh || "";
    failed = false;
    stale(false);
  } catch {
    failed = true;
    stale(true, "it could not be reloaded.");
  } finally {
    pending = false;
  }
}
function soon() {
  if (timer || pending) return;
  timer = setTimeout(refresh, Math.max(0, REFRESH_MS - (Date.now() - asked)));
}
if (mark && banner && document.querySelector("[data-live]")) {
  let events;
  const listen = () => {
    events = new EventSource("/events");
    events.addEventListener("pulse", (event) => {
      heard = Date.now();
      const pulse = JSON.parse(event.data);
      if (pulse.stopped) { stale(true, "the kernel has stopped."); return; }
      if (pulse.ended) { events.close(); ended(); return; }
      // A failed reload is retried: an event alone does not update the page.
      if (pulse.version !== version || failed) { version = pulse.version; soon(); } else if (!pending) stale(false);
    });
    events.addEventListener("error", () => { if (!over) stale(true, "Switchboard does not respond."); });
  };
  listen();
  // A page in the back-forward cache would keep its connection, and browsers allow only six.
  addEventListener("pagehide", () => events.close());
  addEventListener("pageshow", (event) => { if (event.persisted) { heard = Date.now(); listen(); soon(); } });
  setInterval(() => { const every = Number(root.dataset.refresh || 0); if (every > 0 && !failed && Date.now() - asked >= every * 1000) soon(); }, 1000);
  setInterval(() => { if (!over && Date.now() - heard > QUIET_MS) stale(true, "the connection to Switchboard is lost."); }, 1000);
}

// --- keys ------------------------------------------------------------------------------------------------------------
const help = document.getElementById("keys");
document.querySelector("[data-keys]")?.addEventListener("click", () => help.showModal());
let chord = "";
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const typing = event.target.closest("input, select, textarea, dialog[open]");
  if (event.key === "Escape" && typing) { event.target.blur(); return; }
  if (typing) return;
  if (event.key === "/") { document.getElementById("search")?.focus(); event.preventDefault(); return; }
  if (event.key === "?") { help?.showModal(); event.preventDefault(); return; }
  if (event.key === "t") { themeButton?.click(); return; }
  if (chord === "g") {
    document.querySelector('.nav a[data-key="' + CSS.escape(event.key) + '"]')?.click();
    chord = "";
    return;
  }
  if (event.key === "g") { chord = "g"; setTimeout(() => { chord = ""; }, 1200); return; }
  if (event.key === "j" || event.key === "k") { // next or previous row of a list
    const links = [...document.querySelectorAll(".content td a, .content .line .title a, .content .draw a")];
    const at = links.indexOf(document.activeElement);
    links[Math.min(links.length - 1, Math.max(0, at + (event.key === "j" ? 1 : -1)))]?.focus();
  }
});

// --- choices ---------------------------------------------------------------------------------------------------------
document.querySelectorAll("select[data-choice]").forEach(choose); // the browser may restore another selection
document.addEventListener("change", (event) => { if (event.target.matches("select[data-choice]")) choose(event.target); });

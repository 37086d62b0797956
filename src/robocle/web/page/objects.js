// The list of objects: choose, add, rename, forget, and what is confused with what.

import { postJson, request } from "./api.js";
import { byId, clock, firstSign, hue, make, plural, say } from "./dom.js";
import { changed, listen, names, select, store } from "./store.js";
import { ask, showDone, showHint } from "./teach.js";

const TYPED = "robocle-names";
const list = byId("list");
const rows = new Map();
let opened = ""; // the object whose menu is open
const MANY = 6; // objects from which on their order can be chosen

listen(() => {
  for (const [name, row] of rows) if (!names().includes(name)) (row.remove(), rows.delete(name));
  names().forEach((name, index) => {
    if (!rows.has(name)) rows.set(name, newRow(name));
    const row = rows.get(name);
    if (list.children[index] !== row) list.insertBefore(row, list.children[index] ?? null);
    update(row, name, index);
  });
  byId("none").hidden = names().length > 0 || !store.known;
  byId("sort").hidden = names().length <= MANY;
  filter();
  showPairs();
});

function newRow(name) {
  const glyph = make("span", { className: "glyph", "aria-hidden": "true" });
  const words = make("small");
  const label = make("span", { className: "name" }, name, words);
  const shots = make("span", { className: "shots" });
  const choose = make("button", { className: "choose" }, glyph, label, shots);
  choose.addEventListener("click", () => (select(name), byId("hold").focus()));
  const dots = make("button", {
    className: "dots quiet",
    textContent: "⋯",
    "aria-label": `Menu of ${name}`,
    "aria-expanded": "false",
  });
  dots.addEventListener("click", () => toggleMenu(name));
  return make("li", {}, choose, dots);
}

function update(row, name, index) {
  const found = store.labels.find((each) => each.label === name);
  const choose = row.querySelector(".choose");
  if (!choose) return; // it is being edited
  const glyph = choose.querySelector(".glyph");
  const badge = found?.badge ?? "";
  const isColour = badge.startsWith("#");
  say(glyph, isColour || !badge ? firstSign(name).toUpperCase() : badge);
  glyph.style.background = isColour ? badge : badge ? "none" : `hsl(${hue(name)} 55% 30%)`;
  glyph.style.color = badge && !isColour ? "inherit" : isColour && isLight(badge) ? "#000" : "#fff";
  const words = choose.querySelector("small");
  say(words, found ? found.advice : "hold the button to teach it");
  words.toggleAttribute("data-ready", Boolean(found?.ready));
  const shots = choose.querySelector(".shots");
  say(shots, String(found?.pictures ?? 0));
  shots.setAttribute("aria-label", plural(found?.pictures ?? 0, "picture"));
  choose.setAttribute("aria-pressed", String(name === store.selected));
  choose.title = index < 9 ? `${name} (${index + 1})` : name;
}

function toggleMenu(name) {
  const wasOpen = opened === name;
  closeMenu();
  if (wasOpen) return;
  opened = name;
  const row = rows.get(name);
  const menu = make("div", { className: "menu", role: "group", "aria-label": `What to do with ${name}` });
  const isTaught = store.labels.some((each) => each.label === name);
  menu.append(item("Teach more", () => (select(name), byId("hold").focus())));
  if (isTaught) {
    menu.append(
      item("Pictures", () => showSamples(name)),
      item("Rename", () => startRenaming(name)),
    );
    if (store.labels.length > 1) menu.append(item("Join with", () => startJoining(name)));
    menu.append(item("Badge", () => startBadge(name)));
  }
  const remove = item(isTaught ? "Forget" : "Remove", () => (isTaught ? confirmForgetting(name) : removeAdded(name)));
  remove.className = "red";
  menu.append(remove);
  if (isTaught) menu.append(make("p", { textContent: confusedWith(name) }));
  row.append(menu);
  row.querySelector(".dots").setAttribute("aria-expanded", "true");
  menu.querySelector("button").focus();
  menu.scrollIntoView({ block: "nearest" });
}

function item(text, work) {
  const button = make("button", { textContent: text });
  button.addEventListener("click", () => (closeMenu(), work()));
  return button;
}

export function closeMenu() {
  const row = rows.get(opened);
  opened = "";
  if (!row) return false;
  const menu = row.querySelector(".menu");
  const hadFocus = menu?.contains(document.activeElement);
  menu?.remove();
  const dots = row.querySelector(".dots");
  dots?.setAttribute("aria-expanded", "false");
  if (hadFocus) dots?.focus();
  return true;
}
document.addEventListener("click", (event) => {
  if (opened && !rows.get(opened)?.contains(event.target)) closeMenu();
});

function confusedWith(name) {
  const pairs = store.confusable.filter((each) => each.label === name || each.other === name);
  const others = pairs.map((each) => (each.label === name ? each.other : each.label));
  return others.length ? `Often confused with ${others.join(", ")}.` : "Not confused with anything so far.";
}

function removeAdded(name) {
  store.added = store.added.filter((each) => each !== name);
  changed();
}

const isLight = (colour) => {
  const [red, green, blue] = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
  return 2 * red + 5 * green + blue > 1000;
};

// Puts a form in the place of a row, until it is sent or left with Escape.
function edit(name, fields, words, work) {
  const row = rows.get(name);
  const before = [...row.children];
  const form = make("form", { className: "row" }, ...fields, make("button", { textContent: words }));
  let open = true;
  const close = () => {
    if (open) row.replaceChildren(...before);
    open = false;
    changed();
  };
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    await work();
    close();
    byId("hold").focus();
  });
  form.addEventListener("keydown", (event) => {
    if (event.key === "Escape") (close(), row.querySelector(".dots").focus());
  });
  row.replaceChildren(form);
  fields[0].focus();
  fields[0].select?.();
}

function startRenaming(name) {
  const input = make("input", {
    value: name,
    maxLength: 200,
    autocapitalize: "none",
    "aria-label": `New name of ${name}`,
  });
  edit(name, [input], "Rename", () => rename(name, input.value.trim()));
}

function startJoining(name) {
  const others = names().filter((each) => each !== name);
  const options = others.map((value) => make("option", { value, textContent: value }));
  const picker = make("select", { "aria-label": `Join ${name} with` }, ...options);
  edit(name, [picker], "Join", () => rename(name, picker.value));
}

async function rename(name, wanted) {
  const joined = names().includes(wanted);
  const step = wanted && wanted !== name && (await change("api/v1/rename", { label: name, new_label: wanted }));
  if (!step) return;
  if (store.selected === name) store.selected = wanted;
  remember(wanted);
  showDone(joined ? `${name} is part of ${wanted} now` : `${name} is now ${wanted}`, step);
}

function startBadge(name) {
  const badge = store.labels.find((each) => each.label === name)?.badge ?? "";
  const isColour = badge.startsWith("#");
  const emoji = make("input", {
    value: isColour ? "" : badge,
    maxLength: 16,
    placeholder: "An emoji, or",
    "aria-label": `Emoji of ${name}`,
  });
  const colour = make("input", {
    type: "color",
    value: isColour ? badge : "#2a6fdb",
    "aria-label": `Colour of ${name}`,
  });
  let picked = isColour;
  colour.addEventListener("input", () => ((picked = true), (emoji.value = "")));
  const chosen = () => emoji.value.trim() || (picked ? colour.value : "");
  edit(name, [emoji, colour], "Choose", () => change("api/v1/badge", { label: name, badge: chosen() }));
}

// The taught pictures of an object. No picture is kept, so what is known of each is shown.
async function showSamples(name) {
  const row = rows.get(name);
  let found;
  try {
    found = await request(`api/v1/samples?${new URLSearchParams({ label: name })}`);
  } catch (error) {
    return showHint(error.message, "error");
  }
  row.querySelector(".samples")?.remove();
  const list = make("ul", { className: "samples", "aria-label": `Pictures of ${name}` });
  list.append(...found.samples.map((sample) => shownSample(name, sample)));
  const close = make("button", { className: "quiet", textContent: "Close" });
  close.addEventListener("click", () => (list.remove(), row.querySelector(".dots").focus()));
  list.append(make("li", {}, close));
  row.append(list);
  list.scrollIntoView({ block: "nearest" });
  close.focus({ preventScroll: true });
}

function shownSample(name, { id, time, recognised, taken_for: other, faults }) {
  const known = recognised === null ? "" : `${Math.round(100 * recognised)} %`;
  const doubt = other ? `Looks like ${other}. ` : "";
  const remove = make("button", {
    className: "quiet",
    textContent: "Remove",
    "aria-label": `Remove the picture of ${clock(time)}`,
  });
  remove.addEventListener("click", async () => {
    const step = await change("api/v1/remove", { ids: [id] });
    if (!step) return;
    showDone(`Removed 1 picture of ${name}`, step);
    if (rows.has(name)) showSamples(name);
  });
  const words = make(
    "span",
    {},
    make("time", { textContent: clock(time) }),
    ` ${known} `,
    make("small", { textContent: doubt + faults.join(", ") }),
  );
  return make("li", { className: other ? "doubtful" : "" }, words, remove);
}

function confirmForgetting(name) {
  const dialog = byId("forget-dialog");
  const count = store.labels.find((each) => each.label === name)?.pictures ?? 0;
  say(
    byId("forget-text"),
    `${name} with its ${plural(count, "picture")} will no longer be recognised. Undo brings it back.`,
  );
  dialog.returnValue = "no";
  dialog.onclose = async () => {
    if (dialog.returnValue !== "yes") return rows.get(name)?.querySelector(".dots")?.focus();
    const step = await change("api/v1/forget", { label: name });
    if (step) showDone(`Forgot ${name}`, step);
    byId("hold").focus();
  };
  dialog.showModal();
}

// Sends a change; returns the id of its step, or nothing if it failed.
async function change(path, values) {
  try {
    return (await postJson(path, values)).step;
  } catch (error) {
    showHint(error.message, "error");
    return "";
  }
}

byId("others-forget").addEventListener("click", async () => {
  const step = await change("api/v1/forget", { label: "unknown" });
  if (step) showDone("Forgot what is none of the objects", step);
});

function showPairs() {
  byId("others").hidden = !store.unknown;
  say(byId("others-text"), `${plural(store.unknown, "picture")} of what is none of these.`);
  byId("whole-advice").hidden = !store.advice;
  say(byId("whole-advice"), store.advice ? `${store.advice[0].toUpperCase()}${store.advice.slice(1)}.` : "");
  byId("confused").hidden = !store.confusable.length;
  const items = store.confusable
    .slice(0, 3)
    .map((pair) => make("li", { textContent: `${pair.label} and ${pair.other}: show two more of each` }));
  byId("pairs").replaceChildren(...items);
}

// New objects

// Adds and chooses a name; resolves to the name, or to nothing if it cannot be used.
export async function addName(name) {
  const error = byId("name-error");
  let wanted = name.normalize("NFC").trim();
  const problem = !wanted
    ? "Give it a name first."
    : wanted.toLowerCase() === "unknown"
      ? "That is what I call objects that I don't know. Choose another name, or press None of these."
      : "";
  error.hidden = !problem;
  error.textContent = problem;
  if (problem) return "";
  const same = names().find((each) => each !== wanted && folded(each) === folded(wanted));
  if (
    same &&
    !names().includes(wanted) &&
    (await ask(`Is this the ${same} that I know?`, `Yes, ${same}`, "No, another one"))
  )
    wanted = same;
  if (!names().includes(wanted)) store.added.push(wanted);
  remember(wanted);
  select(wanted);
  rows.get(wanted)?.scrollIntoView({ block: "nearest" });
  return wanted;
}

const folded = (name) => name.toLowerCase().split(/\s+/).join(" ");

byId("new").addEventListener("submit", async (event) => {
  event.preventDefault();
  const input = byId("name");
  if (!(await addName(input.value))) return input.focus();
  input.value = "";
  filter();
  byId("hold").focus();
});

// Shows the objects whose names have what is typed.
function filter() {
  const wanted = folded(byId("name").value.trim());
  for (const [name, row] of rows) row.hidden = !folded(name).includes(wanted);
}
byId("name").addEventListener("input", filter);
byId("sort").addEventListener("change", () => {
  store.sort = byId("sort").value;
  changed();
});

function typed() {
  try {
    return JSON.parse(localStorage.getItem(TYPED) ?? "[]");
  } catch {
    return [];
  }
}

function remember(name) {
  const all = [name, ...typed().filter((each) => each !== name)].slice(0, 100);
  try {
    localStorage.setItem(TYPED, JSON.stringify(all));
  } catch {
    // Private windows may forbid it; then nothing is suggested.
  }
  suggest();
}

function suggest() {
  byId("names").replaceChildren(...typed().map((value) => make("option", { value })));
}
suggest();

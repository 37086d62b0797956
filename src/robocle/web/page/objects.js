// The list of objects: choose, add, rename, forget, and what is confused with what.

import { postJson } from "./api.js";
import { byId, hue, make, plural, say } from "./dom.js";
import { changed, listen, names, select, store } from "./store.js";
import { showDone, showHint } from "./teach.js";

const TYPED = "robocle-names";
const list = byId("list");
const rows = new Map();
let opened = ""; // the object whose menu is open
let renamed = ""; // the object that is being renamed

listen(() => {
  for (const [name, row] of rows) if (!names().includes(name)) (row.remove(), rows.delete(name));
  names().forEach((name, index) => {
    if (!rows.has(name)) rows.set(name, newRow(name));
    const row = rows.get(name);
    if (list.children[index] !== row) list.insertBefore(row, list.children[index] ?? null);
    update(row, name, index);
  });
  byId("none").hidden = names().length > 0 || !store.known;
  showPairs();
});

function newRow(name) {
  const glyph = make("span", { className: "glyph", "aria-hidden": "true", textContent: [...name][0].toUpperCase() });
  glyph.style.setProperty("--hue", hue(name));
  const words = make("small");
  const label = make("span", { className: "name" }, name, words);
  const shots = make("span", { className: "shots" });
  const choose = make("button", { className: "choose" }, glyph, label, shots);
  choose.addEventListener("click", () => (select(name), byId("hold").focus()));
  const dots = make("button", { className: "dots quiet", textContent: "⋯", "aria-label": `Menu of ${name}`, "aria-expanded": "false" });
  dots.addEventListener("click", () => toggleMenu(name));
  return make("li", {}, choose, dots);
}

function update(row, name, index) {
  const found = store.labels.find((each) => each.label === name);
  const choose = row.querySelector(".choose");
  if (!choose) return; // it is being renamed
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
  if (isTaught) menu.append(item("Rename", () => startRenaming(name)));
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

function startRenaming(name) {
  renamed = name;
  const row = rows.get(name);
  const input = make("input", { value: name, maxLength: 200, "aria-label": `New name of ${name}` });
  const form = make("form", { className: "row choose" }, input, make("button", { textContent: "Rename" }));
  const before = [...row.children];
  const stop = () => {
    if (!renamed) return;
    renamed = "";
    row.replaceChildren(...before);
    changed();
  };
  form.className = "row";
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const wanted = input.value.trim();
    const joined = names().includes(wanted);
    const step = wanted && wanted !== name && (await change("api/rename", { label: name, new_label: wanted }));
    if (step) {
      if (store.selected === name) store.selected = wanted;
      remember(wanted);
      showDone(joined ? `${name} is part of ${wanted} now` : `${name} is now ${wanted}`, step);
    }
    stop();
    byId("hold").focus();
  });
  input.addEventListener("keydown", (event) => {
    if (event.key === "Escape") (stop(), row.querySelector(".dots").focus());
  });
  row.replaceChildren(form);
  input.focus();
  input.select();
}

function confirmForgetting(name) {
  const dialog = byId("forget-dialog");
  const count = store.labels.find((each) => each.label === name)?.pictures ?? 0;
  say(byId("forget-text"), `${name} with its ${plural(count, "picture")} will no longer be recognised. Undo brings it back.`);
  dialog.returnValue = "no";
  dialog.onclose = async () => {
    if (dialog.returnValue !== "yes") return rows.get(name)?.querySelector(".dots")?.focus();
    const step = await change("api/forget", { label: name });
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
  const step = await change("api/forget", { label: "unknown" });
  if (step) showDone("Forgot what is none of the objects", step);
});

function showPairs() {
  byId("others").hidden = !store.unknown;
  say(byId("others-text"), `${plural(store.unknown, "picture")} of what is none of these.`);
  byId("whole-advice").hidden = !store.advice;
  say(byId("whole-advice"), store.advice ? `${store.advice[0].toUpperCase()}${store.advice.slice(1)}.` : "");
  byId("confused").hidden = !store.confusable.length;
  const items = store.confusable.slice(0, 3).map((pair) => make("li", { textContent: `${pair.label} and ${pair.other}: show two more of each` }));
  byId("pairs").replaceChildren(...items);
}

// New objects

export function addName(name) {
  const error = byId("name-error");
  const wanted = name.normalize("NFC").trim();
  const problem = !wanted ? "Give it a name first." : wanted.toLowerCase() === "unknown" ? "That is what I call objects that I don't know. Choose another name." : "";
  error.hidden = !problem;
  error.textContent = problem;
  if (problem) return false;
  if (!names().includes(wanted)) store.added.push(wanted);
  remember(wanted);
  select(wanted);
  return true;
}

byId("new").addEventListener("submit", (event) => {
  event.preventDefault();
  const input = byId("name");
  if (!addName(input.value)) return input.focus();
  input.value = "";
  byId("hold").focus();
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

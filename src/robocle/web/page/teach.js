// Teaching: hold the button, or take five. Each hold is one lesson, which one undo reverts.

import { newLesson, post, teach } from "./api.js";
import { boxInPixels, hasBox, setBox } from "./box.js";
import { capture, isReady } from "./camera.js";
import { byId, clock, make, pause, plural, say } from "./dom.js";
import { listen, select, store } from "./store.js";
import { probable, recognised } from "./verdict.js";

const GOAL = 5; // the ring is full
const MOST = 30; // pictures of one hold
const OTHERS = 3; // pictures of what is none of the objects
const UNKNOWN = "unknown"; // its label
const BETWEEN = 250; // milliseconds between two pictures of a hold
const BETWEEN_FIVE = 900; // more time to turn the object
const UNDO_SHOWN = 10000;

const hold = byId("hold");
const ring = byId("ring");
const SHORT = {
  duplicate: ["Turn it a little", "Move it a little", "Tilt it", "Bring it closer", "Show the other side"],
  blurred: ["Too blurred: hold still"],
  dark: ["Too dark: switch on a light"],
  bright: ["Too bright: turn away from the lamp"],
  flat: ["Nothing there: hold it in front of the camera"],
  small: ["Too small: go closer"],
};
const NEXT = [
  "Good. Turn it a little",
  "Good. Move it",
  "Good. Tilt it",
  "Good. A little closer",
  "Good. Further away",
];

const MANY_POOR = 2; // refused pictures after which they can be taught anyway
const LONGEST = 20000; // milliseconds for the pictures that are taken without holding

let held = false;
let recording = false;
let cancelled = false;
let undoTimer = 0;
let doneStep; // the id of the step that the last message is about
let poorLabel = ""; // whose pictures were too poor
let answered = () => {};
const agreed = new Set(); // contradictions that were confirmed since the object was chosen
let chosen = "";

export const isRecording = () => recording;
export const goesOn = () => !cancelled;

export function showHint(text, kind = "hint") {
  say(byId("hint"), text, kind);
}

export function showDone(text, step) {
  doneStep = step;
  say(byId("done-text"), text);
  byId("done").hidden = false;
  clearTimeout(undoTimer);
  undoTimer = setTimeout(() => (byId("done").hidden = true), UNDO_SHOWN);
}

// Asks a question, beside the picture; resolves to whether the answer is yes.
export function ask(text, yes, no = "No") {
  answer(false);
  say(byId("ask-text"), text);
  byId("ask-yes").textContent = `${yes} (Y)`;
  byId("ask-no").textContent = `${no} (N)`;
  byId("ask").hidden = false;
  if (document.activeElement?.matches("input")) document.activeElement.blur(); // or the keys would be typed
  return new Promise((done) => (answered = done));
}

// Answers the question; returns whether there was one.
export function answer(yes) {
  if (byId("ask").hidden) return false;
  byId("ask").hidden = true;
  answered(yes);
  return true;
}

export const agree = (text, label) => ask(text, `Yes, ${named(label)}`);
const named = (label) => (label === UNKNOWN ? "none of the objects" : label);

// Returns a label that contradicts what is to be taught, unless that was confirmed.
function contradiction(label) {
  const other = recognised();
  return !hasBox() && other && other !== label && !agreed.has(`${other}\n${label}`) ? other : null;
}

async function may(label) {
  const other = contradiction(label);
  if (!other) return true;
  const yes = await agree(`This looks like ${other}. Teach it as ${named(label)}?`, label);
  if (yes) agreed.add(`${other}\n${label}`);
  return yes;
}

export async function startHolding() {
  const label = store.selected;
  if (held || recording || hold.disabled) return;
  if (contradiction(label)) {
    if (await may(label)) showHint("Now hold the button.", "good");
    return;
  }
  held = true;
  record(() => held, MOST, BETWEEN);
}

export function stopHolding() {
  held = false;
}

async function take(label, most, options) {
  if (recording || !label || !(await may(label))) return;
  const until = Date.now() + LONGEST;
  await record(() => Date.now() < until, most, BETWEEN_FIVE, { label, stops: true, ...options });
}

export const takeFive = () => take(store.selected, GOAL);
export const teachOther = () => !byId("other").disabled && take(UNKNOWN, OTHERS);
export const teachAnyway = () => !byId("anyway").hidden && take(poorLabel, GOAL, { poor: "accept" });

// Teaches the box that was chosen on the picture.
export async function teachPart() {
  await take(store.selected, OTHERS);
  setBox(null);
}

function rememberProbable() {
  const label = probable();
  if (!label) return;
  select(label);
  take(label, OTHERS);
}

// Begins something that Stop ends; returns false if something else is going on.
export function begin(stops = true) {
  if (recording) return false;
  recording = true;
  cancelled = false;
  byId("done").hidden = byId("anyway").hidden = true;
  byId("stop").hidden = !stops;
  return true;
}

export function end() {
  recording = held = false;
  byId("stop").hidden = true;
}

// Stops what goes on by itself; returns whether anything did.
export function stop() {
  cancelled = true;
  return !byId("stop").hidden;
}

async function record(lasts, most, between, { label = store.selected, poor = "refuse", stops = false } = {}) {
  if (!isReady()) return showHint("The camera shows nothing yet. Add pictures instead, or try again.", "error");
  if (!begin(stops)) return;
  mark(true, 0);
  showHint("");
  const lesson = newLesson();
  const wanted = () => lasts() && goesOn();
  let taught = 0;
  let poorOnes = 0;
  try {
    for (let number = 0; wanted() && taught < most; number++) {
      const picture = await capture(hasBox());
      const refused = await teachOne(label, picture, { lesson, number, poor, box: boxInPixels(), goesOn: wanted });
      taught += refused ? 0 : 1;
      poorOnes += refused?.isPoor ? 1 : 0;
      poorLabel = label;
      byId("anyway").hidden = poorOnes < MANY_POOR || taught > poorOnes;
      mark(true, taught);
      showHint(refused ? refused.hint : NEXT[(taught - 1) % NEXT.length], refused ? "hint" : "good");
      if (wanted() && taught < most) await pause(refused ? 120 : between);
    }
    finish(label, taught, lesson);
  } catch (error) {
    showHint(error.message, error.status ? "error" : "lost");
    if (taught) showDone(`Learned ${plural(taught, "picture")} of ${named(label)}`, `lesson ${lesson}`);
  }
  end();
  mark(false, 0);
}

// Teaches a picture; returns a hint if it was refused as poor.
async function teachOne(label, picture, options) {
  try {
    await teach(label, picture, options);
    return null;
  } catch (error) {
    if (!error.complaints?.length) throw error;
    const { kind, advice, label: other } = error.complaints[0];
    const isOther = kind === "duplicate" && other && other !== label;
    const hints = isOther ? [`This was taught as ${other}`] : (SHORT[kind] ?? [advice]);
    return { hint: hints[Math.floor(Date.now() / 2500) % hints.length], isPoor: kind !== "duplicate" };
  }
}

function finish(label, taught, lesson) {
  if (taught) {
    showHint("");
    const what = label === UNKNOWN ? "what is none of the objects" : label;
    showDone(`Learned ${plural(taught, "picture")} of ${what}`, `lesson ${lesson}`);
  } else if (!byId("hint").textContent) {
    showHint("Hold the button a little longer.");
  }
}

function mark(on, taught) {
  hold.toggleAttribute("data-held", on);
  byId("progress").hidden = !on;
  byId("progress").toggleAttribute("data-some", taught > 0);
  byId("frame").classList.toggle("recording", on);
  ring.style.strokeDashoffset = String(100 - (100 * Math.min(taught, GOAL)) / GOAL);
  say(byId("count"), taught ? String(taught) : "");
}

// Undoes the step that the last message is about, whatever others have done since; else the last one.
export const undo = () => (byId("done").hidden ? undoLast() : revert("revert", doneStep));
const undoLast = () => revert("undo", store.steps[0]?.id);
export const redo = () => revert("redo", store.undone[0]?.id);

async function revert(verb, step) {
  byId("done").hidden = true;
  try {
    const { undone, redone } = await post(`api/v1/${verb}?${new URLSearchParams(step ? { step } : {})}`);
    showHint(undone ? `Undid ${undone}` : `Redid ${redone}`, "good");
  } catch (error) {
    showHint(error.message, "error");
  }
}

listen(() => {
  const name = store.selected;
  if (name !== chosen) agreed.clear();
  chosen = name;
  hold.disabled = !name;
  byId("five").disabled = byId("files-open").disabled = !name;
  byId("other").disabled = !store.labels.length;
  say(
    byId("hold-text"),
    name ? `Hold to teach ${name}` : store.labels.length ? "Choose what to teach" : "Hold to teach",
  );
  byId("arrow").hidden = store.labels.length > 0 || !store.known;
  say(byId("arrow"), name ? "Now hold this and turn the object" : "Type its name, then hold this");
  byId("undo").disabled = !store.undoable;
  byId("undo").textContent = store.steps.length ? `Undo ${store.steps[0].description}` : "Undo last";
  byId("redo").hidden = !store.undone.length;
  byId("redo").textContent = `Redo ${store.undone[0]?.description}`;
  say(byId("history-count"), store.undoable ? `(${store.undoable})` : "");
  byId("steps").replaceChildren(
    ...store.steps.map((step) =>
      make("li", {}, make("time", { textContent: clock(step.time) }), ` ${step.description}`),
    ),
  );
});

// On a phone, what is said lies above the panel with the button.
new ResizeObserver(([panel]) =>
  document.documentElement.style.setProperty("--panel", `${panel.target.offsetHeight}px`),
).observe(document.querySelector(".teaching"));

hold.addEventListener("pointerdown", (event) => {
  if (event.button !== 0) return;
  hold.setPointerCapture(event.pointerId);
  startHolding();
});
for (const end of ["pointerup", "pointercancel", "lostpointercapture"]) hold.addEventListener(end, stopHolding);
hold.addEventListener("contextmenu", (event) => event.preventDefault());
window.addEventListener("blur", stopHolding);
byId("ask-yes").addEventListener("click", () => answer(true));
byId("ask-no").addEventListener("click", () => answer(false));
byId("stop").addEventListener("click", stop);
byId("anyway").addEventListener("click", teachAnyway);
byId("remember").addEventListener("click", rememberProbable);
byId("five").addEventListener("click", takeFive);
byId("other").addEventListener("click", teachOther);
byId("undo").addEventListener("click", undoLast);
byId("redo").addEventListener("click", redo);
byId("done-undo").addEventListener("click", undo);

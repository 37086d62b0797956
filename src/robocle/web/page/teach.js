// Teaching: hold the button, or take five. Each hold is one lesson, which one undo reverts.

import { newLesson, post, teach } from "./api.js";
import { boxInPixels, hasBox } from "./box.js";
import { capture, isReady } from "./camera.js";
import { byId, make, pause, plural, say } from "./dom.js";
import { listen, store } from "./store.js";

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
const NEXT = ["Good. Turn it a little", "Good. Move it", "Good. Tilt it", "Good. A little closer", "Good. Further away"];

let held = false;
let recording = false;
let undoTimer = 0;
let doneStep; // the id of the step that the last message is about

export const isRecording = () => recording;

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

export function startHolding() {
  if (held || recording || hold.disabled) return;
  held = true;
  record(() => held, MOST, BETWEEN);
}

export function stopHolding() {
  held = false;
}

export function takeFive() {
  if (recording || hold.disabled) return;
  const until = Date.now() + 20000;
  record(() => Date.now() < until, GOAL, BETWEEN_FIVE);
}

export function teachOther() {
  if (recording || byId("other").disabled) return;
  const until = Date.now() + 20000;
  record(() => Date.now() < until, OTHERS, BETWEEN_FIVE, UNKNOWN);
}

async function record(goesOn, most, between, label = store.selected) {
  if (!isReady()) return showHint("The camera shows nothing yet. Add pictures instead, or try again.", "error");
  recording = true;
  byId("done").hidden = true;
  mark(true, 0);
  const lesson = newLesson();
  let taught = 0;
  try {
    for (let number = 0; goesOn() && taught < most; number++) {
      const picture = await capture(hasBox());
      const refused = await teachOne(label, picture, { lesson, number, poor: "refuse", box: boxInPixels() });
      taught += refused ? 0 : 1;
      mark(true, taught);
      showHint(refused || NEXT[(taught - 1) % NEXT.length], refused ? "hint" : "good");
      if (goesOn() && taught < most) await pause(refused ? 120 : between);
    }
    finish(label, taught, lesson);
  } catch (error) {
    showHint(error.message, "error");
  }
  recording = false;
  held = false;
  mark(false, 0);
}

// Teaches a picture; returns a hint if it was refused as poor.
async function teachOne(label, picture, options) {
  try {
    await teach(label, picture, options);
    return "";
  } catch (error) {
    if (!error.complaints?.length) throw error;
    const { kind, advice } = error.complaints[0];
    const hints = SHORT[kind] ?? [advice];
    if (kind === "duplicate" && /taught as/.test(advice) && !advice.includes(`'${label}'`)) return `This was ${advice.match(/taught as .*?(?=[:(])/)?.[0] ?? "taught under another name"}`;
    return hints[Math.floor(Date.now() / 2500) % hints.length];
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
  hold.toggleAttribute("data-some", taught > 0);
  byId("frame").classList.toggle("recording", on);
  ring.style.strokeDashoffset = String(100 - (100 * Math.min(taught, GOAL)) / GOAL);
  say(byId("count"), taught ? String(taught) : "");
}

// Undoes the last step, if it is the expected one: somebody else may have taught meanwhile.
export const undo = () => revert("undo", byId("done").hidden ? store.steps[0]?.id : doneStep);
export const redo = () => revert("redo", store.undone[0]?.id);

async function revert(verb, step) {
  byId("done").hidden = true;
  try {
    const { undone, redone } = await post(`api/${verb}?${new URLSearchParams(step ? { step } : {})}`);
    showHint(undone ? `Undid ${undone}` : `Redid ${redone}`, "good");
  } catch (error) {
    showHint(error.message, "error");
  }
}

listen(() => {
  const name = store.selected;
  hold.disabled = !name && !recording;
  byId("five").disabled = byId("files-open").disabled = !name;
  byId("other").disabled = !store.labels.length;
  say(byId("hold-text"), name ? `Hold to teach ${name}` : "Hold to teach");
  byId("arrow").hidden = store.labels.length > 0 || !store.known;
  say(byId("arrow"), name ? "Now hold this and turn the object" : "Type its name, then hold this");
  byId("undo").disabled = !store.undoable;
  byId("undo").textContent = store.steps.length ? `Undo ${store.steps[0].description}` : "Undo last";
  byId("redo").hidden = !store.undone.length;
  byId("redo").textContent = `Redo ${store.undone[0]?.description}`;
  say(byId("history-count"), store.undoable ? `(${store.undoable})` : "");
  byId("steps").replaceChildren(...store.steps.map((step) => make("li", { textContent: step.description })));
});

hold.addEventListener("pointerdown", (event) => {
  if (event.button !== 0) return;
  hold.setPointerCapture(event.pointerId);
  startHolding();
});
for (const end of ["pointerup", "pointercancel", "lostpointercapture"]) hold.addEventListener(end, stopHolding);
hold.addEventListener("contextmenu", (event) => event.preventDefault());
window.addEventListener("blur", stopHolding);
byId("five").addEventListener("click", takeFive);
byId("other").addEventListener("click", teachOther);
byId("undo").addEventListener("click", undo);
byId("redo").addEventListener("click", redo);
byId("done-undo").addEventListener("click", undo);

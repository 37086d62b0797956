// What the learner sees: the verdict, the bars, the heat map, latency and frames per second.

import { placeOverBox } from "./box.js";
import { byId, make, say } from "./dom.js";
import { offerTray } from "./tray.js";
import { store } from "./store.js";

const SPOKEN_EVERY = 1000; // milliseconds
const SPEED_EVERY = 500;
const AVERAGED = 20;
const FRESH = 1500; // milliseconds for which a verdict counts

const bars = byId("bars");
const heat = byId("heat");
let times = [];
let spoken = "";
let spokenAt = 0;
let speedShownAt = 0;
let seen = { label: null, sure: false, at: 0 };

// The label that was recognised just now, if it can be relied on.
export const recognised = () => (seen.sure && performance.now() - seen.at < FRESH ? seen.label : null);
// What it probably is.
export const probable = () => seen.label;

export function showPrediction(answer, milliseconds) {
  const { kind, text, more } = worded(answer);
  seen = { label: answer.label ?? null, sure: answer.sure && !answer.empty, at: performance.now() };
  byId("remember").hidden = kind !== "probable";
  offerTray(kind);
  say(byId("verdict"), text, kind);
  say(byId("verdict-more"), more);
  byId("seen").toggleAttribute("data-wide", kind === "empty");
  speak(text);
  showBars(answer);
  showHeat(answer.heat, answer.heat_of);
  showSpeed(milliseconds);
}

function worded(answer) {
  if (answer.event === "error") return { kind: "nothing", text: "Nothing to see", more: answer.error };
  if (answer.empty || !store.labels.length) {
    return { kind: "empty", text: "Hold something in front of the camera and give it a name.", more: "" };
  }
  if (answer.verdict === "nothing") return { kind: "nothing", text: "Nothing to see", more: sentence(answer.nothing) };
  if (answer.verdict === "undecided") return { kind: "wait", text: "...", more: "Hold it still for a moment." };
  if (answer.verdict === "unknown") {
    return { kind: "unknown", text: "I don't know this", more: "It is not enough like anything I was taught." };
  }
  if (answer.likelihood)
    return { kind: "probable", text: `${capital(answer.likelihood)} ${answer.label}`, more: "Is it?" };
  return { kind: "known", text: answer.label, more: "" };
}

const capital = (text) => `${text[0].toUpperCase()}${text.slice(1)}`;
const sentence = (text) => capital(text).replace(/[^.!?]$/, "$&.");

export function showWaiting(text, more = "") {
  say(byId("verdict"), text, "wait");
  say(byId("verdict-more"), more);
  bars.replaceChildren();
  showHeat(null);
  byId("remember").hidden = true;
  offerTray("wait");
  byId("speed").textContent = "";
  times = [];
}

// Screen readers hear a new verdict, at most once a second.
function speak(text) {
  const now = performance.now();
  if (text === spoken || now - spokenAt < SPOKEN_EVERY) return;
  spoken = text;
  spokenAt = now;
  say(byId("spoken"), text);
}

function showBars(answer) {
  const rows = (answer.confidences ?? []).map(([label, part]) => ["", label, part]);
  if (answer.others > 0.005) rows.push(["others", "others", answer.others]);
  if (!answer.empty && answer.event !== "error") rows.push(["unknown", "unknown", answer.unknown_probability]);
  while (bars.children.length > rows.length) bars.lastChild.remove();
  while (bars.children.length < rows.length) bars.append(bar());
  rows.forEach(([kind, label, part], index) => {
    const row = bars.children[index];
    row.className = kind;
    say(row.firstChild, label);
    const percent = Math.round(100 * part);
    row.children[1].firstChild.style.transform = `scaleX(${percent / 100})`; // no work if it is the same
    say(row.lastChild, `${percent} %`);
  });
}

function bar() {
  const track = make("span", { className: "track" }, make("span", { className: "fill" }));
  return make("li", {}, make("span", { className: "name" }), track, make("span", { className: "part" }));
}

function showHeat(map, label) {
  heat.hidden = byId("heat-of").hidden = !map;
  if (map) say(byId("heat-of"), `What speaks for ${label}`);
  if (!map) return;
  heat.width = map.columns;
  heat.height = map.rows;
  const image = new ImageData(map.columns, map.rows);
  map.values.forEach((value, index) => image.data.set([255, 110, 0, 1.9 * value], 4 * index));
  heat.getContext("2d").putImageData(image, 0, 0);
  placeOverBox(heat);
}

function showSpeed(milliseconds) {
  const now = performance.now();
  times = [...times, [now, milliseconds]].slice(-AVERAGED);
  if (times.length < 3 || now - speedShownAt < SPEED_EVERY) return;
  speedShownAt = now;
  const rate = (1000 * (times.length - 1)) / (now - times[0][0]);
  const middle = times.map((each) => each[1]).sort((a, b) => a - b)[times.length >> 1];
  say(byId("speed"), `${Math.round(middle)} ms, ${Math.round(rate)}/s`);
}

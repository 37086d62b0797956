// A box on the picture: only this part is taught or recognised.

import { byId, make, say } from "./dom.js";
import { frameSize } from "./camera.js";

const SMALLEST = 0.1; // of the picture's side
const STEP = 0.02;

const view = byId("view");
const shown = byId("box");
const toggle = byId("box-toggle");
const found = byId("finds");
let suggested = null; // the box that something unknown is probably in
let part = null; // left, top, width, height, each from 0 to 1, as the camera sees it
let start = null;

export const hasBox = () => part !== null;

// The box in pixels of the frame that is sent; null for the whole picture.
export function boxInPixels() {
  if (!part) return null;
  const [width, height] = frameSize(true);
  return [part[0] * width, part[1] * height, part[2] * width, part[3] * height].map(Math.round);
}

export function toggleBox(on = !part) {
  setBox(on ? (suggested ?? [0.25, 0.2, 0.5, 0.6]) : null);
}

export function setBox(box) {
  part = box;
  show();
}

// Draws what the server found, with its label. A click takes the box, with what is then to be done.
export function showFinds(finds, chosen) {
  const [width, height] = frameSize(true);
  const boxes = (finds ?? []).map(({ box: [x, y, w, h], ...more }) => {
    const left = clamp(x / width);
    const top = clamp(y / height);
    return { ...more, box: [left, top, Math.min(w / width, 1 - left), Math.min(h / height, 1 - top)] };
  });
  const shownOnes = part ? [] : boxes.filter(({ box }) => box[2] * box[3] < 0.95);
  suggested = (shownOnes.find(({ label }) => label === null) ?? shownOnes[0])?.box ?? null;
  while (found.children.length > shownOnes.length) found.lastChild.remove();
  while (found.children.length < shownOnes.length) {
    const button = make("button", { className: "find" }, make("span"));
    button.addEventListener("click", () => chosen(button.found));
    found.append(button);
  }
  shownOnes.forEach((each, index) => {
    const button = found.children[index];
    button.found = each.box;
    button.classList.toggle("strange", each.label === null);
    say(
      button.firstChild,
      each.label === null
        ? each.verdict === "unknown"
          ? "unknown"
          : "..."
        : [each.likelihood, each.label].join(" ").trim(),
    );
    placeAt(button, each.box);
  });
}

function show() {
  toggle.setAttribute("aria-pressed", String(part !== null));
  view.classList.toggle("drawing", part !== null);
  shown.hidden = !part;
  if (part) placeOverBox(shown);
}

// Puts an element where the box is, or over the whole picture.
export function placeOverBox(element) {
  placeAt(element, part ?? [0, 0, 1, 1]);
}

function placeAt(element, place) {
  ["left", "top", "width", "height"].forEach((side, index) => (element.style[side] = `${100 * place[index]}%`));
}

function point(event) {
  const area = view.getBoundingClientRect();
  const across = (event.clientX - area.left) / area.width;
  const x = view.classList.contains("mirrored") ? 1 - across : across;
  return [clamp(x), clamp((event.clientY - area.top) / area.height)];
}

const clamp = (value, low = 0, high = 1) => Math.min(Math.max(value, low), high);

view.addEventListener("pointerdown", (event) => {
  if (!part || event.target.matches(".find")) return;
  start = point(event);
  view.setPointerCapture(event.pointerId);
});
view.addEventListener("pointermove", (event) => {
  if (!start) return;
  const end = point(event);
  const sides = [0, 1].map((axis) => Math.max(Math.abs(end[axis] - start[axis]), SMALLEST));
  const corner = [0, 1].map((axis) => clamp(Math.min(start[axis], end[axis]), 0, 1 - sides[axis]));
  part = [...corner, ...sides];
  show();
});
for (const end of ["pointerup", "pointercancel"]) view.addEventListener(end, () => (start = null));
toggle.addEventListener("click", () => toggleBox());

// Arrows move the box, with Shift they resize it.
export function moveBox(key, resizes) {
  const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  if (!part || !(key in steps)) return false;
  const mirrored = view.classList.contains("mirrored") && !resizes ? -1 : 1;
  const [x, y] = steps[key];
  const moved = [x * STEP * mirrored, y * STEP];
  const first = resizes ? 2 : 0;
  for (const axis of [0, 1]) {
    const room = resizes ? 1 - part[axis] : 1 - part[axis + 2];
    part[first + axis] = clamp(part[first + axis] + moved[axis], resizes ? SMALLEST : 0, room);
  }
  show();
  return true;
}

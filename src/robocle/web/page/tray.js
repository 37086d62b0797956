// What was seen lately and not known: small pictures, in the memory of this page only, to be named.

import { byId, make } from "./dom.js";
import { addName } from "./objects.js";
import { upload } from "./upload.js";

const MOST = 12;
const BETWEEN = 2500; // milliseconds between two pictures
const STEADY = 800; // milliseconds for which it must have been unknown

const list = byId("tray-list");
const form = byId("call");
let kept = 0;
let since = null; // when it began to be unknown
let offered = false; // whether the verdict asks for a name

export function keepUnknown(answer, picture) {
  const now = performance.now();
  if (answer.verdict !== "unknown" || answer.empty) since = null;
  else since ??= now;
  if (since === null || !picture || now - since < STEADY || now - kept < BETWEEN) return;
  kept = now;
  const image = make("img", { src: URL.createObjectURL(picture), alt: `Seen at ${new Date().toLocaleTimeString()}` });
  const box = make("input", { type: "checkbox" });
  box.addEventListener("change", show);
  const item = make("li", {}, make("label", {}, box, image));
  item.picture = picture;
  list.prepend(item);
  while (list.children.length > MOST) remove([...list.children].find((each) => !isChosen(each)) ?? list.lastChild);
  show();
}

const isChosen = (item) => item.querySelector("input").checked;
const chosen = () => [...list.children].filter(isChosen);

function remove(item) {
  URL.revokeObjectURL(item.querySelector("img").src);
  item.remove();
}

// Offers to name what is there, or what was chosen.
export function offerTray(kind) {
  offered = kind === "unknown";
  show();
}

function show() {
  byId("tray").hidden = !list.children.length;
  const typing = form.contains(document.activeElement) && byId("call-name").value;
  form.hidden = !offered && !chosen().length && !typing;
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const input = byId("call-name");
  const name = await addName(input.value);
  if (!name) return input.focus();
  input.value = "";
  const items = chosen();
  byId("hold").focus();
  show();
  if (!items.length) return;
  await upload(items.map((item) => [name, item.picture]));
  items.forEach(remove);
  show();
});
byId("tray-clear").addEventListener("click", () => {
  [...list.children].forEach(remove);
  show();
});

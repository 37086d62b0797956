// The keyboard: everything can be done without a mouse.

import { moveBox, toggleBox } from "./box.js";
import { byId } from "./dom.js";
import { closeMenu } from "./objects.js";
import { names, select } from "./store.js";
import { answer, redo, startHolding, stop, stopHolding, takeFive, teachAnyway, teachOther, undo } from "./teach.js";

const KEYS = {
  n: () => answer(false) || byId("name").focus(),
  u: undo,
  r: redo,
  h: () => byId("heat-toggle").click(),
  b: () => toggleBox(),
  f: takeFive,
  o: teachOther,
  a: teachAnyway,
  y: () => answer(true),
  "?": () => byId("help-dialog").showModal(),
};

const types = (element) => element.matches("input, select, textarea, [contenteditable]");
const isFree = (element) => element === document.body || element.id === "hold" || element.matches(".choose");
const onTeachPage = () => !byId("page-teach").hidden;

document.addEventListener("keydown", (event) => {
  const target = event.target instanceof Element ? event.target : document.body;
  if (event.key === "Escape" && (closeMenu() || answer(false) || stop())) return;
  if (event.ctrlKey || event.altKey || event.metaKey || types(target) || target.closest("dialog")) return;
  if (!onTeachPage() && event.key !== "?") return;
  if (event.key === " " && isFree(target)) {
    event.preventDefault();
    if (!event.repeat) startHolding();
  } else if (/^[1-9]$/.test(event.key) && names()[event.key - 1]) {
    select(names()[event.key - 1]);
  } else if (moveBox(event.key, event.shiftKey)) {
    event.preventDefault();
  } else if (KEYS[event.key.toLowerCase()] && !event.repeat) {
    event.preventDefault();
    KEYS[event.key.toLowerCase()]();
  }
});
document.addEventListener("keyup", (event) => event.key === " " && stopHolding());
// The browser would press a focused button when the space bar is released.
byId("hold").addEventListener("keyup", (event) => event.key === " " && event.preventDefault());
byId("help").addEventListener("click", KEYS["?"]);

// Tabs: arrows change between them.
const tabs = [byId("tab-teach"), byId("tab-more")];
export function showTab(tab, work) {
  for (const each of tabs) {
    each.setAttribute("aria-selected", String(each === tab));
    each.tabIndex = each === tab ? 0 : -1;
    byId(each.getAttribute("aria-controls")).hidden = each !== tab;
  }
  work?.();
}
export function whenTab(work) {
  for (const tab of tabs) {
    tab.addEventListener("click", () => showTab(tab, () => work(tab.id)));
    tab.addEventListener("keydown", (event) => {
      if (!["ArrowLeft", "ArrowRight"].includes(event.key)) return;
      const other = tabs[1 - tabs.indexOf(tab)];
      other.focus();
      other.click();
    });
  }
}

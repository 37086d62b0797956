// Pictures from files: with the button, or dropped. A dropped folder teaches a label of its name.

import { newLesson, post, teach } from "./api.js";
import { byId, opens, plural } from "./dom.js";
import { addName } from "./objects.js";
import { store } from "./store.js";
import { agree, begin, end, goesOn, showDone, showHint } from "./teach.js";

const PICTURES = /\.(jpe?g|png|webp)$/i;
const drop = byId("drop");
let depth = 0;

// Teaches pairs of label and picture as one lesson. What looks like another object is asked about.
export async function upload(lessons) {
  if (!begin()) return;
  const refused = [];
  let warned = "";
  try {
    const wanted = await withoutContradictions(lessons);
    const lesson = newLesson();
    const taught = [];
    for (const [number, [label, file]] of wanted.entries()) {
      if (!goesOn()) break;
      showHint(`Learning picture ${number + 1} of ${wanted.length}`, "good");
      try {
        const answer = await teach(label, file, { lesson, number, poor: "warn", goesOn });
        warned ||= answer.complaints[0] ? `${file.name ?? "picture"}: ${answer.complaints[0].advice}` : "";
        taught.push(label);
      } catch (error) {
        refused.push(`${file.name ?? "picture"}: ${error.message}`);
      }
    }
    const labels = [...new Set(taught)];
    if (taught.length)
      showDone(`Learned ${plural(taught.length, "picture")} of ${labels.join(", ")}`, `lesson ${lesson}`);
  } finally {
    end();
  }
  const more = refused.length > 1 ? ` (and ${refused.length - 1} more)` : "";
  showHint(refused.length ? refused[0] + more : warned, refused.length ? "error" : "hint");
}

async function withoutContradictions(lessons) {
  if (!store.labels.length) return lessons;
  const likely = new Map();
  for (const [number, [label, file]] of lessons.entries()) {
    if (!goesOn()) return [];
    showHint(`Looking at picture ${number + 1} of ${lessons.length}`, "good");
    const found = await post("api/v1/predict?top=1", file).catch(() => ({}));
    if (found.sure && found.label && found.label !== label) likely.set(lessons[number], found.label);
  }
  if (!likely.size) return lessons;
  const [[[label], other]] = likely;
  const what = likely.size > 1 ? `${likely.size} of these pictures look like ${other}` : `This looks like ${other}`;
  const yes = await agree(`${what}. Teach ${likely.size > 1 ? "them" : "it"} as ${label}?`, label);
  return yes ? lessons : lessons.filter((each) => !likely.has(each));
}

opens(byId("files-open"), byId("files"), (files) => upload(files.map((file) => [store.selected, file])));

// Returns pairs of label and file: the folder's name, or the selected object for loose files.
async function dropped(transfer) {
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  const found = entries.length ? [] : [...transfer.files].map((file) => ["", file]);
  for (const entry of entries) await walk(entry, "", found);
  return found.map(([folder, file]) => [folder || store.selected, file]);
}

async function walk(entry, folder, found) {
  if (entry.isFile) {
    if (PICTURES.test(entry.name)) found.push([folder, await new Promise((done, fail) => entry.file(done, fail))]);
    return;
  }
  const reader = entry.createReader();
  for (;;) {
    const inside = await new Promise((done, fail) => reader.readEntries(done, fail));
    if (!inside.length) return;
    for (const each of inside) await walk(each, entry.name, found);
  }
}

const hasFiles = (event) => event.dataTransfer?.types.includes("Files");
document.addEventListener("dragenter", (event) => {
  if (hasFiles(event)) drop.hidden = ++depth === 0;
});
document.addEventListener("dragleave", (event) => {
  if (hasFiles(event)) drop.hidden = --depth <= 0;
});
document.addEventListener("dragover", (event) => hasFiles(event) && event.preventDefault());
document.addEventListener("drop", async (event) => {
  if (!hasFiles(event)) return;
  event.preventDefault();
  drop.hidden = true;
  depth = 0;
  const lessons = await dropped(event.dataTransfer);
  if (!lessons.length) return showHint("There are no JPEG, PNG or WEBP pictures in what you dropped.", "error");
  if (lessons.some(([label]) => !label)) {
    byId("name").focus();
    return showHint("Name the object first, or drop a folder that has its name.", "error");
  }
  if (await addName(lessons[0][0])) upload(lessons);
});

// The teach page: connects camera, server and the parts of the page.

import { openSession, request } from "./api.js";
import { boxInPixels, hasBox, setBox, showFinds } from "./box.js";
import * as camera from "./camera.js";
import { byId, pause, say } from "./dom.js";
import { whenTab } from "./keys.js";
import { showAbout } from "./more.js";
import { Socket } from "./socket.js";
import { changed, store } from "./store.js";
import { isRecording, showHint, teachPart } from "./teach.js";
import { keepUnknown } from "./tray.js";
import "./upload.js";
import { showPrediction, showWaiting } from "./verdict.js";

const OTHER_SHOWN = 3000;
let wantsHeat = false;
let wantsFinds = false;
let otherTimer = 0;

const socket = new Socket(onEvent, onStatus);

function onEvent(event) {
  if (event.event === "hello") {
    store.client = event.client;
    wantsFinds = event.finder && byId("find-toggle").getAttribute("aria-pressed") === "true";
    byId("find-toggle").hidden = !event.finder;
    camera.start(event.camera);
  } else if (event.event === "state") {
    const { labels, confusable, unknown, advice, steps, undoable, undone } = event;
    Object.assign(store, { labels, confusable, unknown, advice, steps, undoable, undone, known: true });
    changed();
  } else if (event.event === "taught" && event.by !== store.client && !event.repeated) {
    showOther(event);
  }
}

// Another browser or program teaches: say who.
function showOther({ by, label, pictures }) {
  const who = by ? "Another browser" : "A program";
  say(byId("connection"), `${who} teaches ${label} (${pictures})`, "other");
  clearTimeout(otherTimer);
  otherTimer = setTimeout(() => say(byId("connection"), "", ""), OTHER_SHOWN);
}

async function onStatus(status) {
  if (status === "open") {
    if (byId("hint").dataset.kind === "lost") showHint("");
    return say(byId("connection"), "", "");
  }
  say(byId("connection"), "Connection lost. Trying again", "lost");
  showWaiting("Not connected", "The server does not answer. What was learned is safe.");
  await requireToken();
}

// Asks for the token if the server needs one and this browser has no session.
async function requireToken() {
  const dialog = byId("token-dialog");
  if (dialog.open) return;
  try {
    await request("api/v1/labels");
  } catch (error) {
    if (error.status !== 401) return;
    dialog.showModal();
    byId("token").focus();
  }
}

byId("token-form").addEventListener("submit", async (event) => {
  event.preventDefault();
  const right = await openSession(byId("token").value.trim());
  byId("token-error").hidden = right;
  if (right) location.reload();
});

// Recognises frame after frame: the next one is sent when the answer is here.
async function recognise() {
  for (;;) {
    if (document.hidden || !socket.isOpen || !camera.isReady() || byId("page-teach").hidden) {
      if (socket.isOpen && !camera.isReady()) showNoCamera();
      await pause(100);
      continue;
    }
    await camera.nextFrame();
    const finds = wantsFinds && !hasBox();
    const picture = await camera.capture(hasBox() || finds);
    const rate = Number(byId("strictness").value);
    const header = {
      heat: wantsHeat,
      find: finds,
      ...(rate && { false_accept: rate }),
      ...(hasBox() && { box: boxInPixels() }),
      ...(!picture && { camera: true }),
    };
    const start = performance.now();
    const answer = await socket.ask(header, picture);
    if (answer) {
      showPrediction(answer, performance.now() - start);
      showFinds(answer.finds, chosen);
      keepUnknown(answer, picture);
    }
    if (!answer || answer.event === "error") await pause(200);
    if (isRecording()) await pause(60); // teaching goes first
  }
}

// A box was chosen: it shows what is being taught, or something that needs a name.
async function chosen(box) {
  setBox(box);
  if (store.selected) await teachPart();
  else byId("name").focus();
}

function showNoCamera() {
  const blocked = !byId("camera-message").hidden;
  showWaiting(blocked ? "No camera" : "Starting the camera", blocked ? "You can still add pictures." : "");
}

const press = (button, on) => byId(button).setAttribute("aria-pressed", String(on));
byId("heat-toggle").addEventListener("click", () => press("heat-toggle", (wantsHeat = !wantsHeat)));
byId("find-toggle").addEventListener("click", () => {
  press("find-toggle", (wantsFinds = !wantsFinds));
  showFinds();
});
whenTab((id) => {
  const isMore = id === "tab-more";
  const stage = document.querySelector(".stage");
  if (isMore) byId("check-stage").append(stage);
  else byId("seen").before(stage);
  if (isMore) showAbout().catch(() => {});
});

// Takes the token from the link; returns whether it is right.
async function useToken() {
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  if (!token) return false;
  history.replaceState(null, "", location.pathname); // so that it is not copied with the address
  return openSession(token).catch(() => false);
}
// A link that is pasted into an open page changes its hash only.
window.addEventListener("hashchange", async () => (await useToken()) && location.reload());

async function begin() {
  await useToken();
  socket.connect();
  recognise();
}

begin();

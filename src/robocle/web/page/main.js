// The teach page: connects camera, server and the parts of the page.

import { openSession, request } from "./api.js";
import { boxInPixels, hasBox } from "./box.js";
import * as camera from "./camera.js";
import { byId, pause, say } from "./dom.js";
import { whenTab } from "./keys.js";
import { showAbout } from "./more.js";
import { Socket } from "./socket.js";
import { changed, store } from "./store.js";
import { isRecording } from "./teach.js";
import "./upload.js";
import { showPrediction, showWaiting } from "./verdict.js";

const OTHER_SHOWN = 3000;
let wantsHeat = false;
let otherTimer = 0;

const socket = new Socket(onEvent, onStatus);

function onEvent(event) {
  if (event.event === "hello") {
    store.client = event.client;
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
  const who = by ? `Browser ${by}` : "A program";
  say(byId("connection"), `${who} teaches ${label} (${pictures})`, "other");
  clearTimeout(otherTimer);
  otherTimer = setTimeout(() => say(byId("connection"), "", ""), OTHER_SHOWN);
}

async function onStatus(status) {
  if (status === "open") return say(byId("connection"), "", "");
  say(byId("connection"), "Connection lost. Trying again", "lost");
  showWaiting("Not connected", "The server does not answer. What was learned is safe.");
  await requireToken();
}

// Asks for the token if the server needs one and this browser has no session.
async function requireToken() {
  const dialog = byId("token-dialog");
  if (dialog.open) return;
  try {
    await request("api/labels");
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
    const picture = await camera.capture(hasBox());
    const rate = Number(byId("strictness").value);
    const header = { heat: wantsHeat, ...(rate && { false_accept: rate }), ...(hasBox() && { box: boxInPixels() }), ...(!picture && { camera: true }) };
    const start = performance.now();
    const answer = await socket.ask(header, picture);
    if (answer) showPrediction(answer, performance.now() - start);
    if (!answer || answer.event === "error") await pause(200);
    if (isRecording()) await pause(60); // teaching goes first
  }
}

function showNoCamera() {
  const blocked = !byId("camera-message").hidden;
  showWaiting(blocked ? "No camera" : "Starting the camera", blocked ? "You can still add pictures." : "");
}

byId("heat-toggle").addEventListener("click", (event) => {
  wantsHeat = !wantsHeat;
  event.currentTarget.setAttribute("aria-pressed", String(wantsHeat));
});
whenTab((id) => id === "tab-more" && showAbout().catch(() => {}));

async function begin() {
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  if (token) {
    history.replaceState(null, "", location.pathname); // so that it is not copied with the address
    await openSession(token).catch(() => {});
  }
  socket.connect();
  recognise();
}

begin();

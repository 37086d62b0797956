// The camera: that of the browser, or that of the robot, which the server reads.

import { byId, make, pause, say } from "./dom.js";

const ROBOT = "robot";
const WIDTH = 320; // of a frame that is sent
const WIDTH_WITH_BOX = 640; // a part of the picture needs more pixels
const QUALITY = 0.8;

const video = byId("video");
const stream = byId("stream");
const picker = byId("cameras");
const canvas = document.createElement("canvas");

let hasRobot = false;
let current = "";
export let onSwitch = () => {};
export const whenSwitched = (work) => (onSwitch = work);

export const isRobot = () => current === ROBOT;
export const isReady = () => (isRobot() ? !stream.hidden : video.readyState >= 2 && video.videoWidth > 0);

// The width and height of the frames that are sent, for boxes.
export function frameSize(hasBox) {
  const [width, height] = isRobot()
    ? [stream.naturalWidth, stream.naturalHeight]
    : [video.videoWidth, video.videoHeight];
  if (isRobot()) return [width, height];
  const scale = Math.min(1, (hasBox ? WIDTH_WITH_BOX : WIDTH) / Math.max(width, 1));
  return [Math.round(width * scale), Math.round(height * scale)];
}

let presented = 0; // counts the frames that the camera has shown
let captured = -1;
function countFrames() {
  presented += 1;
  video.requestVideoFrameCallback?.(countFrames);
}
countFrames();

// Waits until there is a frame that was not captured yet, so that none is sent twice.
export async function nextFrame() {
  if (isRobot() || !video.requestVideoFrameCallback) return;
  for (let waited = 0; presented === captured && waited < 20; waited++) await pause(5);
}

// Returns the present frame as a JPEG; null for the robot's camera, whose frames the server has.
export async function capture(hasBox = false) {
  if (isRobot()) return null;
  captured = presented;
  [canvas.width, canvas.height] = frameSize(hasBox);
  canvas.getContext("2d").drawImage(video, 0, 0, canvas.width, canvas.height);
  return new Promise((done) => canvas.toBlob(done, "image/jpeg", QUALITY));
}

export async function start(robot) {
  if (robot !== hasRobot || !current) {
    hasRobot = robot;
    await open(robot ? ROBOT : "");
  }
}

export async function open(wanted) {
  stop();
  current = wanted;
  showMessage(null);
  onSwitch();
  if (wanted === ROBOT) openRobot();
  else await openBrowser(wanted);
  await list();
}

function openRobot() {
  stream.src = `api/v1/camera?${Date.now()}`;
  stream.hidden = false;
  video.hidden = true;
  byId("view").classList.remove("mirrored");
}

async function openBrowser(id) {
  video.hidden = false;
  current = id || "browser";
  if (!navigator.mediaDevices?.getUserMedia) return showMessage(NOT_SECURE());
  const size = { width: { ideal: 640 }, height: { ideal: 480 } };
  const which = id ? { deviceId: { exact: id } } : { facingMode: { ideal: "environment" } };
  try {
    video.srcObject = await navigator.mediaDevices.getUserMedia({ video: { ...size, ...which } });
    await video.play().catch(() => {});
    const track = video.srcObject.getVideoTracks()[0];
    const { deviceId, facingMode } = track.getSettings();
    current = deviceId ?? "browser";
    track.onended = () => showMessage(MESSAGES.NotReadableError);
    const isRear = facingMode === "environment" || /back|rear|environment/i.test(track.label);
    byId("view").classList.toggle("mirrored", !isRear);
  } catch (error) {
    showMessage(MESSAGES[error.name] ?? { what: "The camera does not start.", todo: String(error.message) });
  }
}

function stop() {
  video.srcObject?.getTracks().forEach((track) => ((track.onended = null), track.stop()));
  video.srcObject = null;
  stream.removeAttribute("src");
  stream.hidden = true;
}

async function list() {
  const devices = (await navigator.mediaDevices?.enumerateDevices?.()) ?? [];
  const cameras = devices.filter((device) => device.kind === "videoinput");
  const options = cameras.map((each, index) =>
    make("option", { value: each.deviceId, textContent: each.label || `Camera ${index + 1}` }),
  );
  if (hasRobot) options.unshift(make("option", { value: ROBOT, textContent: "The robot's camera" }));
  if (!options.length) options.push(make("option", { value: "", textContent: "No camera" }));
  picker.replaceChildren(...options);
  if ([...picker.options].some((option) => option.value === current)) picker.value = current;
}

const NOT_SECURE = () => ({
  what: "The browser allows the camera only on secure pages.",
  todo: `Start the server with --https and open https://${location.host}, or open the page on the robot itself at http://127.0.0.1:${location.port}. Adding pictures works here, too.`,
});

const MESSAGES = {
  NotAllowedError: {
    what: "The camera is not allowed.",
    todo: "Click the camera or lock sign beside the address, choose Allow, and try again. Adding pictures works without it.",
  },
  NotFoundError: {
    what: "There is no camera.",
    todo: "Plug one in and try again, or add pictures with the button or by dropping them here.",
  },
  NotReadableError: {
    what: "The camera is busy.",
    todo: "Close the program that uses it, perhaps a video call, and try again.",
  },
  OverconstrainedError: {
    what: "That camera is gone.",
    todo: "Choose another one below, or plug it in and try again.",
  },
};
MESSAGES.SecurityError = MESSAGES.NotAllowedError;
MESSAGES.AbortError = MESSAGES.NotReadableError;

export function showMessage(message) {
  byId("camera-message").hidden = !message;
  if (!message) return;
  say(byId("camera-what"), message.what);
  say(byId("camera-do"), message.todo);
  byId("camera-again").hidden = !navigator.mediaDevices && !hasRobot;
}

function fit() {
  const [width, height] = isRobot()
    ? [stream.naturalWidth, stream.naturalHeight]
    : [video.videoWidth, video.videoHeight];
  if (height) byId("view").style.setProperty("--ratio", width / height);
}
for (const event of ["loadedmetadata", "resize"]) video.addEventListener(event, fit);
stream.addEventListener("load", fit);

picker.addEventListener("change", () => open(picker.value));
byId("camera-again").addEventListener("click", () => open(isRobot() ? ROBOT : ""));
stream.addEventListener("error", () => {
  if (isRobot() && stream.src) setTimeout(() => isRobot() && openRobot(), 2000);
});
navigator.mediaDevices?.addEventListener?.("devicechange", list);

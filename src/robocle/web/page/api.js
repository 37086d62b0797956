// Requests to the server. An error has the server's one line as its message.

import { pause } from "./dom.js";
import { store } from "./store.js";

export class ApiError extends Error {
  constructor(status, content) {
    super(content.error ?? `the server answered ${status}`);
    this.status = status;
    this.complaints = content.complaints ?? [];
  }
}

export async function request(path, options = {}) {
  const headers = { "X-Robocle-Client": String(store.client), ...options.headers };
  const answer = await fetch(path, { ...options, headers }).catch(() => {
    throw new ApiError(0, { error: "The server does not answer. What was learned before is safe." });
  });
  const content = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new ApiError(answer.status, content);
  return content;
}

export const post = (path, body) => request(path, { method: "POST", body });

export const postJson = (path, values) =>
  request(path, { method: "POST", body: JSON.stringify(values), headers: { "Content-Type": "application/json" } });

// Teaches one picture. While the server does not answer, it is sent again as long as that is wanted:
// the server teaches each number of a lesson only once.
export async function teach(label, picture, { lesson, number, poor, box, goesOn }) {
  const query = new URLSearchParams({ label, lesson, number, poor });
  if (box) query.set("box", box.join(","));
  if (!picture) query.set("source", "camera");
  for (let wait = 250; ; wait = Math.min(2 * wait, 2000)) {
    try {
      return await post(`api/v1/teach?${query}`, picture);
    } catch (error) {
      if (![0, 429].includes(error.status) || !goesOn()) throw error;
      if (!error.status && poor !== "accept") query.set("poor", "refuse"); // it may have been taught
      await pause(wait);
    }
  }
}

export const newLesson = () =>
  [...crypto.getRandomValues(new Uint8Array(12))].map((byte) => byte.toString(16).padStart(2, "0")).join("");

// Opens a session with a token; returns whether the token is right.
export async function openSession(token) {
  try {
    await request("api/v1/session", { method: "POST", headers: { Authorization: `Bearer ${token}` } });
    return true;
  } catch (error) {
    if (error.status === 401 || error.status === 429) return false;
    throw error;
  }
}

// Small helpers for elements. Text is always set as text: labels come from users.

export const byId = (id) => document.getElementById(id);

export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.includes("-")) element.setAttribute(name, value);
    else element[name] = value;
  }
  element.append(...children);
  return element;
}

// Sets text only if it changed, so that screen readers are not told twice.
export function say(element, text, kind) {
  if (element.textContent !== text) element.textContent = text;
  if (kind !== undefined) element.dataset.kind = kind;
}

export const pause = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

export const plural = (number, noun) => `${number} ${noun}${number === 1 ? "" : "s"}`;

// Opens a file picker with a button.
export function opens(button, input, take) {
  button.addEventListener("click", () => input.click());
  input.addEventListener("change", () => {
    const files = [...input.files];
    input.value = "";
    if (files.length) take(files);
  });
}

export const hue = (name) => [...name].reduce((sum, sign) => (sum * 31 + sign.codePointAt(0)) % 360, 7);

// The first sign as people see it: an emoji may consist of several characters.
export const firstSign = (name) => new Intl.Segmenter().segment(name)[Symbol.iterator]().next().value.segment;

// The time of something in seconds since 1970, with the day unless that is today.
export function clock(seconds) {
  const then = new Date(1000 * seconds);
  const isToday = then.toDateString() === new Date().toDateString();
  const day = isToday ? {} : { day: "numeric", month: "short" };
  return then.toLocaleString([], { ...day, hour: "2-digit", minute: "2-digit" });
}

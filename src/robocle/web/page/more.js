// The second page: robustness check, export and import, and what programs need.

import { post, request } from "./api.js";
import { capture, isReady, isRobot } from "./camera.js";
import { byId, make, opens, pause, plural, say } from "./dom.js";
import { listen, store } from "./store.js";

const TESTED = 5;
const totals = new Map(); // condition -> {in_words, advice, right, unknown, wrong}
let tested = 0;

listen(() => {
  const chosen = byId("check-label").value;
  const options = store.labels.map(({ label }) => make("option", { value: label, textContent: label }));
  options.push(make("option", { value: "", textContent: "something I was not taught" }));
  byId("check-label").replaceChildren(...options);
  if (store.labels.some(({ label }) => label === chosen)) byId("check-label").value = chosen;
  byId("check-camera").disabled = byId("check-open").disabled = !store.labels.length;
});

const checkStatus = (text, kind = "hint") => say(byId("check-status"), text, kind);

async function test(pictures, count) {
  const label = byId("check-label").value || "something that was not taught";
  byId("check-camera").disabled = byId("check-open").disabled = true;
  let done = 0;
  try {
    for await (const picture of pictures) {
      checkStatus(`Testing picture ${++done} of ${count}`, "good");
      add(await post(`api/v1/check?${new URLSearchParams({ label })}`, picture));
    }
    checkStatus("");
  } catch (error) {
    checkStatus(error.message, "error");
  }
  byId("check-camera").disabled = byId("check-open").disabled = false;
}

async function* fromCamera() {
  for (let number = 0; number < TESTED; number++) {
    if (number) await pause(400);
    yield await capture();
  }
}

byId("check-camera").addEventListener("click", () => {
  if (isRobot()) return checkStatus("Choose the browser's camera, or test pictures.", "error");
  if (!isReady()) return checkStatus("The camera shows nothing: test pictures instead.", "error");
  test(fromCamera(), TESTED);
});
opens(byId("check-open"), byId("check-files"), (files) => test(files, files.length));
byId("check-clear").addEventListener("click", () => (totals.clear(), (tested = 0), show()));

function add(result) {
  tested += 1;
  for (const { name, in_words, advice, ...counts } of result.conditions) {
    const total = totals.get(name) ?? { in_words, advice, right: 0, unknown: 0, wrong: 0 };
    for (const outcome of Object.keys(counts)) total[outcome] += counts[outcome];
    totals.set(name, total);
  }
  show();
}

function show() {
  byId("check-table").hidden = byId("check-clear").hidden = !tested;
  byId("check-rows").replaceChildren(...[...totals.values()].map(row));
  const worst = [...totals.values()].sort((a, b) => share(a) - share(b))[0];
  const fine = worst && share(worst) >= 0.8;
  const advice = !worst
    ? ""
    : fine
      ? "Recognised well in every condition."
      : `Weakest when it is shown ${worst.in_words}: ${worst.advice}.`;
  say(byId("check-advice"), tested ? `${plural(tested, "picture")} tested. ${advice}` : "");
}

const share = ({ right, unknown, wrong }) => right / Math.max(right + unknown + wrong, 1);

function row({ in_words, right, unknown, wrong }) {
  const all = Math.max(right + unknown + wrong, 1);
  const stack = make("div", { className: "stack", "aria-hidden": "true" });
  for (const count of [right, unknown, wrong]) {
    const part = make("i");
    part.style.setProperty("--part", count);
    stack.append(part);
  }
  const cells = [right, unknown, wrong].map((count) =>
    make("td", { textContent: `${Math.round((100 * count) / all)} %` }),
  );
  return make("tr", {}, make("th", { scope: "row", textContent: in_words }), ...cells, make("td", {}, stack));
}

// Export, import, and what programs need

opens(byId("import-open"), byId("import"), async ([file]) => {
  const status = byId("share-status");
  say(status, `Importing ${file.name}`, "good");
  try {
    const { merged, step } = await post("api/v1/import", file);
    say(status, step ? `Merged ${merged}. Undo reverts it.` : `It has ${merged}, all of them known.`, "good");
  } catch (error) {
    say(status, error.message, "error");
  }
});

for (const link of document.querySelectorAll("a[download]")) {
  link.addEventListener("click", (event) => {
    if (store.labels.length) return;
    event.preventDefault();
    say(byId("share-status"), "Nothing has been taught yet: teach an object first.", "error");
  });
}

byId("copy").addEventListener("click", async () => {
  try {
    await navigator.clipboard.writeText(byId("api-address").textContent);
    byId("copy").textContent = "Copied";
  } catch {
    getSelection().selectAllChildren(byId("api-address"));
    byId("copy").textContent = "Press Ctrl-C";
  }
  setTimeout(() => (byId("copy").textContent = "Copy"), 2000);
});

export async function showAbout() {
  byId("api-address").textContent = new URL("api/v1/", location.href).href.split("#")[0];
  const state = await request("api/v1/state");
  const rows = {
    "state file": `${state.file}, ${(state.bytes / 1e6).toFixed(2)} MB`,
    robocle: `${state.robocle}, ${state.licence}`,
    backbone: state.parts.backbone,
    pooling: state.parts.pooling,
    classifier: state.parts.classifier,
  };
  byId("about").replaceChildren(
    ...Object.entries(rows).flatMap(([name, value]) => [
      make("dt", { textContent: name }),
      make("dd", { textContent: value }),
    ]),
  );
}

// What the page knows. `changed` tells everyone who listens.

const listeners = [];

export const store = {
  client: 0,
  labels: [], // {label, pictures, ready, advice, badge}, as the server sends them
  added: [], // names that were typed but not taught yet
  confusable: [],
  unknown: 0, // pictures of what is none of the objects
  advice: "", // what would help as a whole
  steps: [], // {id, description, time} that can be undone, the last first
  undone: [], // the same that can be redone
  undoable: 0,
  known: false, // whether the server has sent its state
  selected: "", // what is taught; nothing until somebody chooses
  sort: "",
};

const ORDERS = {
  name: (a, b) => a.label.localeCompare(b.label),
  few: (a, b) => a.pictures - b.pictures,
};

export const listen = (work) => listeners.push(work);

export function changed() {
  const taught = store.labels.map((each) => each.label);
  store.added = store.added.filter((name) => !taught.includes(name));
  if (!names().includes(store.selected)) store.selected = "";
  for (const work of listeners) work(store);
}

export function names() {
  const all = [...store.labels, ...store.added.map((label) => ({ label, pictures: 0 }))];
  return (store.sort ? all.sort(ORDERS[store.sort]) : all).map((each) => each.label);
}

export function select(name) {
  store.selected = name;
  changed();
}

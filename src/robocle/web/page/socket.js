// The WebSocket: one frame in flight, and connected again when it drops.

const FIRST_WAIT = 300;
const LONGEST_WAIT = 5000;
const ANSWER_WITHIN = 10000;

export class Socket {
  #socket = null;
  #wait = FIRST_WAIT;
  #asked = null; // {id, resolve}: the frame that is in flight
  #id = 0;

  constructor(onEvent, onStatus) {
    this.onEvent = onEvent;
    this.onStatus = onStatus;
  }

  get isOpen() {
    return this.#socket?.readyState === WebSocket.OPEN;
  }

  connect() {
    const address = new URL("api/v1/live", location.href);
    address.protocol = address.protocol.replace("http", "ws");
    address.hash = "";
    this.#socket = new WebSocket(address);
    this.#socket.onmessage = (message) => this.#receive(JSON.parse(message.data));
    this.#socket.onopen = () => {
      this.#wait = FIRST_WAIT;
      this.onStatus("open");
    };
    this.#socket.onclose = () => {
      this.#settle(null);
      this.onStatus("lost");
      setTimeout(() => this.connect(), this.#wait);
      this.#wait = Math.min(2 * this.#wait, LONGEST_WAIT);
    };
  }

  // Sends a frame and returns its answer; null if the connection dropped or took too long.
  ask(header, picture) {
    if (!this.isOpen || this.#asked) return Promise.resolve(null);
    const id = ++this.#id;
    this.#socket.send(new Blob([JSON.stringify({ ...header, id }), "\n", picture ?? ""]));
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#settle(null), ANSWER_WITHIN);
      this.#asked = { id, resolve: (answer) => (clearTimeout(timer), resolve(answer)) };
    });
  }

  #receive(event) {
    const answers = event.event === "prediction" || (event.event === "error" && this.#asked);
    if (!answers) return this.onEvent(event);
    if (event.id === this.#asked?.id || event.id === null) this.#settle(event);
  }

  #settle(answer) {
    const asked = this.#asked;
    this.#asked = null;
    asked?.resolve(answer);
  }
}

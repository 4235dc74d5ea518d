// A session: what is said to it, and what happens in it.

import { type Connection, sleep } from "./connection.js";
import { BrainError, BrainUnavailable, TurnFailed } from "./errors.js";
import {
  type Accepted,
  type Content,
  type Delivery,
  type Event,
  type Message,
  type QueuedMessage,
  type SessionData,
  textOf,
} from "./types.js";

const FOLLOW_ATTEMPTS = 10;
const FIRST_DELAY_MS = 100;
const LONGEST_DELAY_MS = 5_000;
/** What a follower waits out: an engine that restarts, or a proxy that doesn't find the edge. */
const PASSING = [429, 502, 503, 504];
const GONE = 404;
/** A compaction is a model call that reads the whole context. */
const COMPACTION_MS = 600_000;
const TURN_ENDS = ["turn.completed", "turn.failed", "turn.interrupted"];
const ROLES: Partial<Record<string, Message["role"]>> = {
  "message.user": "user",
  "message.assistant": "assistant",
};

export interface EventOptions {
  /** The `seq` after which to begin; 0, the default, is the beginning. */
  after?: number;
  /** End when the session is idle. Without it the events end when the session is closed. */
  until?: "idle";
  /** Stops following: the loop ends with the signal's reason. */
  signal?: AbortSignal;
}

export interface SendOptions {
  delivery?: Delivery;
}

export interface RunOptions extends SendOptions {
  signal?: AbortSignal;
}

export class Session {
  readonly id: string;
  /** The session as Brain last showed it. */
  data: SessionData;
  readonly #connection: Connection;
  #seen: number;

  constructor(connection: Connection, data: SessionData) {
    this.#connection = connection;
    this.data = data;
    this.id = data.id;
    this.#seen = data.last_seq;
  }

  /** Send a message: text, or a list of content blocks. It is durable when this resolves. */
  async send(content: Content, { delivery = "queue" }: SendOptions = {}): Promise<Accepted> {
    return this.#call("POST", "/messages", { content, delivery });
  }

  /**
   * The session's events: what is there after a point, then what comes.
   *
   * Reconnects by itself, and then misses and repeats nothing that is durable.
   */
  async *events({ after = 0, until, signal }: EventOptions = {}): AsyncGenerator<Event, void> {
    const path = `/sessions/${this.id}/events`;
    let failures = 0;
    for (;;) {
      try {
        for await (const event of this.#connection.stream(path, { until }, after, signal)) {
          after = event.seq ?? after;
          failures = 0;
          yield event;
        }
        if (await this.#isOver(after, until)) return;
      } catch (error) {
        failures += 1;
        if (failures === FOLLOW_ATTEMPTS || !passes(error)) throw error;
      }
      await sleep(Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** failures), signal);
    }
  }

  /**
   * Send a message and give the events from it on, until the session is idle.
   *
   * It follows before it sends, so that it also gets the first words of the answer.
   */
  async *run(content: Content, options: RunOptions = {}): AsyncGenerator<Event, void> {
    for await (const event of this.#following(content, options)) {
      this.#seen = event.seq ?? this.#seen;
      yield event;
    }
    const rest: EventOptions = { after: this.#seen, until: "idle" };
    if (options.signal !== undefined) rest.signal = options.signal;
    for await (const event of this.events(rest)) {
      this.#seen = event.seq ?? this.#seen;
      if (event.type !== "session.state") yield event; // the beginning of another stream
    }
  }

  /** Send a message and wait until the session is idle: the text of the last answer. */
  async ask(content: Content, options: RunOptions = {}): Promise<string> {
    let said = "";
    let problem: TurnFailed | undefined;
    for await (const event of this.run(content, options)) {
      if (event.type === "message.assistant") said = textOf(event);
      if (TURN_ENDS.includes(event.type)) problem = failureOf(event);
    }
    if (problem !== undefined) throw problem;
    return said;
  }

  /** The conversation: what users and the model have said, in the order of the log. */
  async messages(): Promise<Message[]> {
    const found: Message[] = [];
    for (let after = 0, more = true; more; ) {
      const page = await this.#connection.call("GET", `/sessions/${this.id}/events`, {
        query: { after },
      });
      for (const event of page.events as Event[]) {
        const role = ROLES[event.type];
        if (role !== undefined) found.push({ role, seq: event.seq, ...event.data });
      }
      [after, more] = [page.next_after, page.has_more];
    }
    return found;
  }

  /** The messages that wait for their turn, in order. */
  async queue(): Promise<QueuedMessage[]> {
    return (await this.#call("GET", "/messages")).messages;
  }

  /** Withdraw a message that waits. A BrainError of status 404: it was delivered already. */
  async withdraw(messageId: string): Promise<void> {
    await this.#call("DELETE", `/messages/${encodeURIComponent(messageId)}`);
  }

  /** End the running turn. Waiting messages are withdrawn, unless the queue is kept. */
  async interrupt({ keepQueue = false } = {}): Promise<{ interrupted: boolean; turn_id: string | null }> {
    return this.#call("POST", "/interrupt", { keep_queue: keepQueue });
  }

  /** Summarise the older part of the model's context; sizes are in tokens. */
  async compact(): Promise<{ tokens_before: number; tokens_after: number }> {
    const path = `/sessions/${this.id}/compact`;
    return this.#connection.call("POST", path, { timeoutMs: COMPACTION_MS });
  }

  /** The session as it is now; `data` is that from then on. */
  async refresh(): Promise<SessionData> {
    this.data = await this.#call("GET", "");
    return this.data;
  }

  /** End the session; it can still be read. */
  async close(): Promise<void> {
    this.data = await this.#call("POST", "/close");
  }

  /** Close the session and erase it. */
  async delete(): Promise<void> {
    await this.#call("DELETE", "");
  }

  /** The events from the message on, until the next end of a turn. */
  async *#following(content: Content, options: RunOptions): AsyncGenerator<Event, void> {
    const from: EventOptions = { after: this.#seen };
    if (options.signal !== undefined) from.signal = options.signal;
    const events = this.events(from);
    try {
      await events.next(); // the stream is open
      const sent = await this.send(content, options);
      let started = false;
      for await (const event of events) {
        started ||= (event.seq ?? 0) >= sent.seq;
        if (started) yield event;
        if (started && TURN_ENDS.includes(event.type)) return;
      }
    } finally {
      await events.return();
    }
  }

  /** Whether a stream that ended has shown all; a server that stops ends its streams, too. */
  async #isOver(after: number, until: "idle" | undefined): Promise<boolean> {
    try {
      const session: SessionData = await this.#call("GET", "");
      const ended = session.status === "closed" || (session.status === "idle" && until === "idle");
      return ended && session.last_seq <= after;
    } catch (error) {
      if (error instanceof BrainError && error.status === GONE) return true;
      throw error;
    }
  }

  #call(method: string, what: string, body?: unknown): Promise<any> {
    return this.#connection.call(method, `/sessions/${this.id}${what}`, { body });
  }
}

function failureOf(event: Event): TurnFailed | undefined {
  if (event.type === "turn.failed") {
    return new TurnFailed(event.data.error.code, event.data.error.message);
  }
  if (event.type === "turn.interrupted") {
    return new TurnFailed("interrupted", `The turn was interrupted: ${event.data.reason}.`);
  }
  return undefined;
}

function passes(error: unknown): boolean {
  if (error instanceof BrainError) return PASSING.includes(error.status);
  return error instanceof BrainUnavailable;
}

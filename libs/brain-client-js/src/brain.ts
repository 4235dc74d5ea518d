// Brain, as one tenant sees it.

import { Connection, type Query } from "./connection.js";
import { Session } from "./session.js";
import type { Catalog, NewSession, SessionPage, Status } from "./types.js";

const DEFAULT_URL = "http://127.0.0.1:8080";

export interface BrainOptions {
  /** Where Brain is; else the variable BRAIN_URL, else this machine's port 8080. */
  url?: string;
  /** The tenant's key; else the variable BRAIN_API_KEY. */
  key?: string;
  /** How long an answer may take, 60,000 ms by default. Streams have no such end. */
  timeoutMs?: number;
  /** What sends requests, `fetch` by default. */
  fetch?: typeof fetch;
}

/**
 * Brain, as one tenant sees it.
 *
 * Methods throw `BrainError` for what Brain refuses and `BrainUnavailable` when it can't be reached.
 */
export class Brain {
  readonly url: string;
  readonly #connection: Connection;

  constructor(options: BrainOptions = {}) {
    this.#connection = new Connection(
      options.url ?? variable("BRAIN_URL") ?? DEFAULT_URL,
      options.key ?? variable("BRAIN_API_KEY") ?? "",
      options.timeoutMs ?? 60_000,
      options.fetch ?? ((...request) => fetch(...request)),
    );
    this.url = this.#connection.url;
  }

  /** The harnesses, models and tools that this tenant may use. */
  async catalog(): Promise<Catalog> {
    return this.call("GET", "/catalog");
  }

  /** A new session, from the body of `POST /sessions`. */
  async create(session: NewSession): Promise<Session> {
    return new Session(this.#connection, await this.call("POST", "/sessions", session));
  }

  /** A session that is there already. */
  async session(id: string): Promise<Session> {
    const found = await this.call("GET", `/sessions/${encodeURIComponent(id)}`);
    return new Session(this.#connection, found);
  }

  /** A page of sessions, newest first. */
  async sessions(query: { limit?: number; cursor?: string; status?: Status } = {}): Promise<SessionPage> {
    return this.call("GET", "/sessions", undefined, query);
  }

  /** What the tenant has used, by day and model, and the sum. Days are `2026-12-31`, in UTC. */
  async usage(query: { from?: string; to?: string } = {}): Promise<any> {
    return this.call("GET", "/usage", undefined, query);
  }

  /** Any request of the HTTP API: its answer's JSON. */
  async call(method: string, path: string, body?: unknown, query: Query = {}): Promise<any> {
    return this.#connection.call(method, path, { body, query });
  }
}

/** A variable of the environment, where there is one. */
function variable(name: string): string | undefined {
  const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } };
  return process?.env?.[name] || undefined;
}

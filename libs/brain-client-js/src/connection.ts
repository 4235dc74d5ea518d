// Requests to Brain's HTTP API.

import { BrainError, BrainTimeout, BrainUnavailable, type Problem } from "./errors.js";
import { SseDecoder } from "./sse.js";
import type { Event } from "./types.js";

/** Brain says something on each stream at least every 15 s: one that is silent longer is dead. */
const SILENCE_MS = 30_000;
const RETRY_DELAYS_MS = [100, 500];
const ENGINE_AWAY = 503;

export type Query = Record<string, string | number | undefined>;

export interface CallOptions {
  body?: unknown;
  query?: Query;
  timeoutMs?: number;
}

/** Brain at a URL, for the owner of a key. */
export class Connection {
  readonly url: string;
  readonly #headers: Record<string, string>;
  readonly #timeoutMs: number;
  readonly #fetch: typeof fetch;

  constructor(url: string, key: string, timeoutMs: number, fetcher: typeof fetch) {
    this.url = url.replace(/\/+$/, "");
    this.#headers = { Authorization: `Bearer ${key}` };
    this.#timeoutMs = timeoutMs;
    this.#fetch = fetcher;
  }

  /**
   * An answer's JSON; `{}` if it has no body.
   *
   * A GET or a POST whose answer was lost is sent again, twice at most. A POST carries a key of its
   * own, by which Brain knows it again: it takes effect once.
   */
  async call(method: string, path: string, options: CallOptions = {}): Promise<any> {
    const headers: Record<string, string> = { ...this.#headers };
    if (method === "POST") headers["Idempotency-Key"] = newKey();
    const request: RequestInit = { method, headers };
    if (options.body !== undefined) {
      headers["Content-Type"] = "application/json";
      request.body = JSON.stringify(options.body);
    }
    const url = this.#at(path, options.query);
    const timeoutMs = options.timeoutMs ?? this.#timeoutMs;
    for (const delay of method === "GET" || method === "POST" ? RETRY_DELAYS_MS : []) {
      try {
        return await this.#once(url, request, timeoutMs);
      } catch (error) {
        if (!mayRepeat(error)) throw error;
      }
      await sleep(delay);
    }
    return await this.#once(url, request, timeoutMs);
  }

  /** One connection's events, until it ends. */
  async *stream(
    path: string,
    query: Query,
    after: number,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<Event, void> {
    const silence = new Silence(signal);
    const headers = { ...this.#headers, Accept: "text/event-stream", "Last-Event-ID": `${after}` };
    try {
      const answer = await this.#fetch(this.#at(path, query), { headers, signal: silence.signal });
      if (answer.status !== 200) this.#read(answer.status, await answer.text());
      const decoder = new SseDecoder();
      const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        silence.heard();
        for (const data of decoder.feed(value)) yield JSON.parse(data) as Event;
      }
    } catch (error) {
      if (error instanceof BrainError || signal?.aborted) throw error;
      throw new BrainUnavailable(`The connection to Brain at ${this.url} was lost.`, { cause: error });
    } finally {
      silence.end();
    }
  }

  async #once(url: string, request: RequestInit, timeoutMs: number): Promise<any> {
    const signal = AbortSignal.timeout(timeoutMs);
    let status: number, body: string;
    try {
      const answer = await this.#fetch(url, { ...request, signal });
      [status, body] = [answer.status, await answer.text()];
    } catch (error) {
      if (signal.aborted) {
        throw new BrainTimeout(`Brain at ${this.url} didn't answer in time.`, { cause: error });
      }
      throw new BrainUnavailable(`Brain can't be reached at ${this.url}.`, { cause: error });
    }
    return this.#read(status, body);
  }

  #read(status: number, body: string): object {
    const document = body === "" ? {} : jsonObject(body);
    if (status >= 200 && status < 300 && document !== undefined) return document;
    if (status >= 400) throw new BrainError(status, (document ?? {}) as Problem);
    throw new BrainError(status, { detail: `What answers at ${this.url} isn't Brain.` });
  }

  #at(path: string, query: Query = {}): string {
    const known = Object.entries(query).filter(([, value]) => value !== undefined);
    const search = new URLSearchParams(known.map(([name, value]) => [name, String(value)]));
    return this.url + path + (known.length > 0 ? `?${search}` : "");
  }
}

/** Ends a request whose stream says nothing any more, or when the caller says so. */
class Silence {
  readonly #controller = new AbortController();
  readonly #outer: AbortSignal | undefined;
  readonly #stop = () => this.#controller.abort(this.#outer?.reason);
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(outer: AbortSignal | undefined) {
    this.#outer = outer;
    outer?.addEventListener("abort", this.#stop, { once: true });
    if (outer?.aborted) this.#stop();
    this.heard();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  heard(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#controller.abort(), SILENCE_MS);
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#outer?.removeEventListener("abort", this.#stop);
    this.#controller.abort();
  }
}

export function sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, milliseconds);
    signal?.addEventListener("abort", stop, { once: true });
    if (signal?.aborted) stop();
  });
}

function mayRepeat(error: unknown): boolean {
  if (error instanceof BrainError) return error.status === ENGINE_AWAY;
  return error instanceof BrainUnavailable && !(error instanceof BrainTimeout);
}

/** 128 random bits. `crypto.randomUUID` isn't there on pages that came by plain HTTP. */
function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function jsonObject(body: string): object | undefined {
  try {
    const document: unknown = JSON.parse(body);
    return typeof document === "object" && document !== null && !Array.isArray(document)
      ? document
      : undefined;
  } catch {
    return undefined;
  }
}

// The shapes of what goes in and comes out. Brain may add fields: mind only those that you know.

export type Status = "idle" | "running" | "closed";

/** What becomes of a message that arrives while a turn runs. On an idle session it starts one. */
export type Delivery = "queue" | "steer" | "interrupt" | "reject";

export interface TextBlock {
  type: "text";
  text: string;
}

/** `data` is base64, `mime_type` such as `image/png`. */
export interface ImageBlock {
  type: "image";
  data: string;
  mime_type: string;
}

/** Text, or blocks of text and images. */
export type Content = string | (TextBlock | ImageBlock)[];

/** A block of an assistant's message. */
export type Block =
  | TextBlock
  | ImageBlock
  | { type: "thinking"; text: string }
  | { type: "tool_call"; call_id: string; name: string; arguments: unknown };

/** What an agent is: `model` is `provider/model`, `tools` are names of the catalog. */
export interface SessionConfig {
  model: string;
  tools?: string[];
  system_prompt?: string | null;
  max_steps?: number;
  max_output_tokens?: number | null;
  temperature?: number | null;
  thinking?: "off" | "low" | "medium" | "high";
  budget?: { tokens?: number | null; cost_usd?: number | null } | null;
}

/** The body of `POST /sessions`. */
export interface NewSession {
  harness: string;
  config: SessionConfig;
  metadata?: Record<string, unknown>;
}

/** A session as Brain shows it. Times are RFC 3339, in UTC. */
export interface SessionData {
  id: string;
  tenant_id: string;
  harness: string;
  config: SessionConfig;
  status: Status;
  created_at: string;
  updated_at: string;
  last_seq: number;
  usage: Record<string, unknown>;
  metadata: Record<string, unknown>;
}

/** Sessions, newest first. `next_cursor` leads to those before, null at the end. */
export interface SessionPage {
  sessions: SessionData[];
  next_cursor: string | null;
}

export interface Tool {
  name: string;
  description: string;
  input_schema: Record<string, unknown>;
  output_schema?: Record<string, unknown>;
}

/** What a tenant may use. */
export interface Catalog {
  harnesses: Record<string, unknown>[];
  models: Record<string, unknown>[];
  tools: Tool[];
}

/** The answer to a message: it is durable. `seq` is that of its event. */
export interface Accepted {
  message_id: string;
  seq: number;
  turn_id: string | null;
  queued: boolean;
}

/** A message that waits for its turn. */
export interface QueuedMessage {
  message_id: string;
  seq: number;
  content: Block[];
  delivery: Delivery;
  created_at: string;
}

/** A message of the conversation, as in its event's data. */
export interface Message {
  role: "user" | "assistant";
  seq: number;
  message_id: string;
  content: Block[];
}

export type EventType =
  | "session.state"
  | "session.created"
  | "message.user"
  | "message.delivered"
  | "message.withdrawn"
  | "turn.started"
  | "message.delta"
  | "message.assistant"
  | "model.retry"
  | "tool.call"
  | "tool.progress"
  | "tool.result"
  | "context.compacted"
  | "turn.recovered"
  | "turn.completed"
  | "turn.failed"
  | "turn.interrupted"
  | "session.closed";

/** An event. Those without `seq` are only shown live, and aren't in the log. */
export interface Event {
  seq?: number;
  type: EventType;
  session_id: string;
  turn_id?: string | null;
  created_at?: string;
  data: any;
}

/** A text block. */
export function text(words: string): TextBlock {
  return { type: "text", text: words };
}

/** An image block of bytes and their type, such as `image/png`. */
export function image(bytes: Uint8Array, mimeType: string): ImageBlock {
  let binary = "";
  for (let at = 0; at < bytes.length; at += 0x8000) {
    binary += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  }
  return { type: "image", data: btoa(binary), mime_type: mimeType };
}

/** The text in an event's or a message's content, joined; empty if there is none. */
export function textOf(said: Event | Message): string {
  const content = ("content" in said ? said.content : said.data?.content) as Block[] | undefined;
  return (content ?? []).map((block) => (block.type === "text" ? block.text : "")).join("");
}

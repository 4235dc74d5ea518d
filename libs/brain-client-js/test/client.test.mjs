// The client against a running Brain: `make test-client-js`.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import http from "node:http";
import { once } from "node:events";
import { after, before, beforeEach, test } from "node:test";
import { Brain, BrainError, BrainTimeout, BrainUnavailable, TurnFailed, image, text, textOf } from "@brain/client";
import { brainUp, losingProxy } from "./brain_up.mjs";

const DEMO = { harness: "pi", config: { model: "demo/script", tools: ["echo", "request_approval"] } };
const WAITS = '/call request_approval {"action":"wait","details":"until somebody comes"}';

let up, brain, proxy, lossy;

before(async () => {
  up = await brainUp();
  brain = new Brain({ url: up.url, key: up.key });
});
after(async () => up?.stop());
beforeEach(async (context) => {
  proxy = await losingProxy(up.url);
  lossy = new Brain({ url: proxy.url, key: up.key });
  context.after?.(() => proxy.stop());
});

async function collected(events) {
  const all = [];
  for await (const event of events) all.push(event);
  return all;
}

const durable = (events) => events.filter((event) => event.seq !== undefined);

test("the snippet of the page on tools runs as it stands", async () => {
  const { tools } = await brain.catalog();
  const session = await brain.create({ harness: "pi", config: { model: "demo/script", tools: ["echo"] } });
  assert.ok(tools.some((tool) => tool.name === "echo"));
  assert.deepEqual(session.data.config.tools, ["echo"]);
});

test("a turn with a tool, from its message until the session is idle", async () => {
  const session = await brain.create(DEMO);
  const events = await collected(session.run('/call echo {"text":"hello"}'));
  assert.deepEqual(
    durable(events).map((event) => event.type),
    [
      "message.user",
      "turn.started",
      "message.assistant",
      "tool.call",
      "tool.result",
      "message.assistant",
      "turn.completed",
    ],
  );
  const messages = await session.messages();
  assert.deepEqual(messages.map((message) => message.role), ["user", "assistant", "assistant"]);
  assert.equal(textOf(messages[2]), "hello");
  assert.equal((await session.refresh()).last_seq, events.at(-1).seq);
});

test("the first words of an answer are among its events, whatever they are", async () => {
  const session = await brain.create(DEMO);
  for (const words of ["one two", "Grüße, 世界 🌍"]) {
    const events = await collected(session.run(words));
    const deltas = events.filter((event) => event.type === "message.delta");
    assert.equal(deltas.map((event) => event.data.text).join(""), `You said: ${words}`);
  }
});

test("a question is answered, with images too; an interrupt is a TurnFailed", async () => {
  const session = await brain.create(DEMO);
  assert.equal(await session.ask("hello"), "You said: hello");
  const png = new Uint8Array([137, 80, 78, 71, 13, 10, 26, 10]);
  assert.match(await session.ask([text("hello"), image(png, "image/png")]), /hello/);
  assert.equal(image(png, "image/png").data, Buffer.from(png).toString("base64"));

  const asked = session.ask(WAITS);
  for await (const event of session.events()) {
    if (event.type === "tool.call") break;
  }
  assert.equal((await session.interrupt()).interrupted, true);
  await assert.rejects(asked, (error) => error instanceof TurnFailed && error.code === "interrupted");
});

test("a follower whose connection is cut misses and repeats nothing", async () => {
  const session = await lossy.create(DEMO);
  await session.send(WAITS);
  const seen = [];
  for await (const event of session.events({ until: "idle" })) {
    if (event.seq !== undefined) seen.push(event);
    if (event.type === "message.assistant") proxy.cut();
    if (event.type === "tool.call") {
      proxy.cut();
      await brain.call("POST", `/sessions/${session.id}/interrupt`);
    }
  }
  const all = (await brain.call("GET", `/sessions/${session.id}/events`)).events;
  assert.deepEqual(seen, all);
  assert.equal(seen.at(-1).type, "turn.interrupted");
});

test("a message whose answer was lost is sent again and taken once", async () => {
  const session = await lossy.create(DEMO);
  proxy.lose("/messages");
  const sent = await session.send("hello");
  assert.equal(proxy.keys.length, 2);
  assert.equal(proxy.keys[0], proxy.keys[1]);
  const events = await collected(session.events({ until: "idle" }));
  const messages = events.filter((event) => event.type === "message.user");
  assert.deepEqual(messages.map((event) => event.seq), [sent.seq]);
});

test("a loop that is left early or aborted lets its connection go", async () => {
  const session = await brain.create(DEMO);
  for await (const event of session.events()) {
    if (event.type === "session.created") break;
  }
  const stop = new AbortController();
  const following = collected(session.events({ signal: stop.signal }));
  stop.abort(new Error("enough"));
  await assert.rejects(following, /enough/);
});

test("a message that waits is listed and withdrawn", async () => {
  const session = await brain.create(DEMO);
  await session.send(WAITS);
  const waits = await session.send("later");
  assert.deepEqual((await session.queue()).map((each) => each.message_id), [waits.message_id]);
  await session.withdraw(waits.message_id);
  await assert.rejects(session.withdraw(waits.message_id), (error) => error.status === 404);
  await session.send("now", { delivery: "interrupt" });
  const events = await collected(session.events({ until: "idle" }));
  assert.equal(textOf(events.findLast((event) => event.type === "message.assistant")), "You said: now");
});

test("sessions, usage, close and delete", async () => {
  const session = await brain.create(DEMO);
  await session.ask("hello");
  assert.equal((await brain.sessions({ limit: 1 })).sessions[0].id, session.id);
  assert.notEqual((await brain.usage()).usage.length, 0);
  assert.equal((await brain.usage({ from: "2020-01-01", to: "2020-01-02" })).usage.length, 0);
  await assert.rejects(session.compact(), (error) => error instanceof BrainError && error.status === 409);
  await session.close();
  assert.equal(session.data.status, "closed");
  assert.equal((await collected(session.events())).at(-1).type, "session.closed");
  await session.delete();
  await assert.rejects(brain.session(session.id), (error) => error.status === 404);
});

test("what Brain refuses is an error with its problem document", async () => {
  const unknown = { harness: "pi", config: { model: "demo/script", tools: ["nope"] } };
  await assert.rejects(brain.create(unknown), (error) => {
    assert.ok(error instanceof BrainError);
    assert.equal(error.status, 422);
    assert.equal(error.problem.errors[0].pointer, "/config/tools/0");
    assert.match(error.message, /nope/);
    return true;
  });
  const wrong = new Brain({ url: up.url, key: "a-wrong-key" });
  await assert.rejects(wrong.catalog(), (error) => error.status === 401 && !/a-wrong-key/.test(error.message));
});

test("a Brain that is away, slow, or another server is said so", async () => {
  await assert.rejects(new Brain({ url: "http://127.0.0.1:1", key: "k" }).catalog(), BrainUnavailable);
  const other = http.createServer((request, answer) => {
    if (request.url === "/catalog") answer.end("<html>");
  });
  other.listen(0, "127.0.0.1");
  await once(other, "listening");
  const url = `http://127.0.0.1:${other.address().port}/`;
  await assert.rejects(new Brain({ url, key: "k" }).catalog(), /isn't Brain/);
  await assert.rejects(new Brain({ url, key: "k", timeoutMs: 200 }).usage(), BrainTimeout);
  other.closeAllConnections();
  other.close();
});

test("where and who may come from the environment", async () => {
  Object.assign(process.env, { BRAIN_URL: up.url, BRAIN_API_KEY: up.key });
  assert.ok((await new Brain().catalog()).tools.length > 0);
});

test("what the README shows runs", async () => {
  Object.assign(process.env, { BRAIN_URL: up.url, BRAIN_API_KEY: up.key });
  const readme = await readFile(new URL("../README.md", import.meta.url), "utf8");
  const snippets = [...readme.matchAll(/```ts\n(.*?)```/gs)].map((found) => found[1]);
  assert.ok(snippets.length > 0);
  for (const snippet of snippets) {
    const module = snippet.replaceAll('"@brain/client"', JSON.stringify(import.meta.resolve("@brain/client")));
    await import(`data:text/javascript,${encodeURIComponent(module)}`);
  }
});

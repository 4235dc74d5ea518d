// Open a session that may use the tools of BRAIN_TOOLS, send it a message, show what happens.
// Node.js 20 or later, nothing to install:
// BRAIN_TOOLS=echo,request_approval node examples/session.mjs
const url = process.env.BRAIN_URL ?? "http://127.0.0.1:8080";
const headers = { Authorization: `Bearer ${process.env.BRAIN_API_KEY}`, "Content-Type": "application/json" };
const tools = (process.env.BRAIN_TOOLS ?? "echo").split(",").filter(Boolean);
const model = process.env.BRAIN_MODEL ?? "demo/script";
// The demo model turns each line `/call NAME JSON` into a tool call. For a real model, say what you
// want in your own words: node examples/session.mjs "Ask for approval to send the report."
const calls = {
  echo: '/call echo {"text":"hello"}',
  request_approval:
    '/call request_approval {"action":"Send the weekly report","details":"To 1,200 customers, today."}',
};
const content = process.argv.slice(2).join(" ") || tools.map((name) => calls[name] ?? "").join("\n");

const session = await post("/sessions", { harness: "pi", config: { model, tools } });
console.log("session", session.id);
const stream = await fetch(`${url}/sessions/${session.id}/events?after=${session.last_seq}`, {
  headers: { ...headers, Accept: "text/event-stream" },
});
await post(`/sessions/${session.id}/messages`, { content });
for await (const { type, data } of events(stream.body)) {
  if (type === "tool.call") console.log("calls", data.name, JSON.stringify(data.arguments));
  if (type === "tool.progress") console.log("  ...", JSON.stringify(data.progress));
  if (type === "tool.result") console.log(data.is_error ? "failed" : "result", textOf(data));
  if (type === "message.assistant" && textOf(data)) console.log("says", textOf(data));
  if (/^turn\.(completed|failed|interrupted)$/.test(type)) break;
}

async function post(path, body) {
  const answer = await fetch(url + path, { method: "POST", headers, body: JSON.stringify(body) });
  const said = await answer.json();
  if (!answer.ok) throw new Error(said.detail);
  return said;
}

async function* events(body) {
  let rest = "";
  for await (const text of body.pipeThrough(new TextDecoderStream())) {
    const blocks = (rest + text).split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      const data = block.split("\n").find((line) => line.startsWith("data: "));
      if (data) yield JSON.parse(data.slice(6));
    }
  }
}

function textOf({ content }) {
  return content.filter((block) => block.type === "text").map((block) => block.text).join("");
}

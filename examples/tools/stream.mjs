// A tool service that reports progress: counts to `arguments.to` over server-sent events.
import http from "node:http";

const token = process.env.BRAIN_TOOLS_KEY;

http.createServer(async (req, res) => {
  if (req.headers.authorization !== `Bearer ${token}`) {
    res.writeHead(401).end();
    return;
  }
  let body = "";
  for await (const chunk of req) body += chunk;
  const { arguments: args } = JSON.parse(body);
  const send = (event, data) => res.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
  // The headers go out at once: Brain waits 30 seconds for them, and much longer for the result.
  res.writeHead(200, { "Content-Type": "text/event-stream" });
  for (let n = 1; n <= args.to; n++) send("progress", { count: n });
  send("result", { content: [{ type: "text", text: `Counted to ${args.to}.` }] });
  res.end();
}).listen(8081, "127.0.0.1");

// The minimal tool service: echoes `arguments.text`. Start it with BRAIN_TOOLS_KEY set.
import http from "node:http";

const token = process.env.BRAIN_TOOLS_KEY;

http.createServer(async (req, res) => {
  if (req.headers.authorization !== `Bearer ${token}`) {
    res.writeHead(401).end();
    return;
  }
  let body = "";
  for await (const chunk of req) body += chunk;
  const { tenant_id, session_id, call_id, arguments: args } = JSON.parse(body);
  // Authorize with tenant_id and session_id. Log call_id to match Brain's tool.call event.
  res.writeHead(200, { "Content-Type": "application/json" });
  res.end(JSON.stringify({ content: [{ type: "text", text: args.text }] }));
}).listen(8081, "127.0.0.1");

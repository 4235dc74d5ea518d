// A Brain of its own for the tests, started as a user starts it, and a proxy that loses things.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import net from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../../..");
const PATIENCE_MS = 60_000;

/** Starts `brain up` in a folder of its own; `url`, `key`, `stop()`. */
export async function brainUp() {
  const home = await mkdtemp(path.join(tmpdir(), "brain-js-"));
  const [port, toolsPort] = [await freePort(), await freePort()];
  const options = ["--home", home, "--port", `${port}`, "--tools-port", `${toolsPort}`];
  const child = spawn(path.join(ROOT, ".venv/bin/brain"), ["up", ...options], { stdio: "pipe" });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (data) => (said += data));
  const url = `http://127.0.0.1:${port}`;
  const stop = async () => {
    if (child.exitCode === null) {
      const ended = once(child, "exit");
      child.kill("SIGINT");
      await ended;
    }
    await rm(home, { recursive: true });
  };
  for (const until = Date.now() + PATIENCE_MS; !(await ready(url)); await pause(100)) {
    if (child.exitCode !== null || Date.now() > until) {
      await stop();
      throw new Error(`Brain didn't start:\n${said}`);
    }
  }
  return { url, key: await keyIn(home), stop };
}

/**
 * A proxy that passes on to a Brain. `cut()` drops all connections; what `lose(path)` names is
 * passed on, and its answer lost once.
 */
export async function losingProxy(url) {
  const target = new URL(url);
  const sockets = new Set();
  const keys = [];
  let losing;
  const server = net.createServer((client) => {
    const brain = net.connect(Number(target.port), target.hostname);
    let loses = false;
    client.on("data", (data) => {
      const head = data.toString("latin1");
      const key = /^idempotency-key: (.*)$/im.exec(head);
      if (losing !== undefined && head.startsWith("POST ") && head.includes(losing)) {
        keys.push(key?.[1].trim());
        loses = keys.length === 1;
      }
      brain.write(data);
    });
    brain.on("data", (data) => {
      if (loses) client.destroy();
      else client.write(data);
    });
    for (const [socket, other] of [[client, brain], [brain, client]]) {
      sockets.add(socket);
      socket.on("error", () => socket.destroy());
      socket.on("close", () => {
        sockets.delete(socket);
        other.destroy();
      });
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    keys,
    lose: (path) => (losing = path),
    cut: () => sockets.forEach((socket) => socket.destroy()),
    stop: () => {
      sockets.forEach((socket) => socket.destroy());
      server.close();
    },
  };
}

async function keyIn(home) {
  return (await readFile(path.join(home, "api_key"), "utf8")).trim();
}

async function ready(url) {
  try {
    return (await fetch(`${url}/readyz`)).ok;
  } catch {
    return false;
  }
}

async function freePort() {
  const server = net.createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}

function pause(milliseconds) {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

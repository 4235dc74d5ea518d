// The operators' page: signing in, the live list, answering.

import { Card, pastLine, sentence } from "/card.js";

const SILENCE = 25_000; // the server says something at least every 8 seconds
const RETRY = 2_000;
const SETTLING = 700; // no click counts so soon after the cards have moved under the pointer
const KEPT = 100;

const $ = (id) => document.getElementById(id);
const cards = new Map();
let offset = 0; // what to add to this machine's time to have the server's
let source = null;
let heard = 0;
let retrying = 0;

// Signing in and out

async function post(path, body) {
  const headers = { "Content-Type": "application/json" };
  return fetch(path, { method: "POST", headers, body: JSON.stringify(body) });
}

function showSignIn() {
  disconnect();
  $("inbox").hidden = true;
  $("sign-in").hidden = false;
  clear();
  document.title = "Approvals";
  $("key").focus();
}

$("sign-in-form").addEventListener("submit", async (event) => {
  event.preventDefault();
  $("sign-in-problem").textContent = "";
  try {
    const answer = await post("/sign-in", { key: $("key").value });
    if (!answer.ok) throw new Error((await answer.json()).detail);
    $("key").value = "";
    connect();
  } catch (error) {
    const unreachable = error instanceof TypeError;
    $("sign-in-problem").textContent = unreachable ? "The server can't be reached." : error.message;
    $("key").select();
  }
});

$("sign-out").addEventListener("click", async () => {
  await post("/sign-out", {}).catch(() => null);
  showSignIn();
});

// The connection

function connect() {
  disconnect();
  heard = performance.now();
  source = new EventSource("/approvals/events");
  source.addEventListener("inbox", ({ data }) => whole(JSON.parse(data)));
  source.addEventListener("approval", ({ data }) => {
    const { now, approval } = JSON.parse(data);
    hear(now);
    apply(approval);
  });
  source.addEventListener("beat", ({ data }) => hear(JSON.parse(data).now));
  source.addEventListener("error", lost);
}

function disconnect() {
  clearTimeout(retrying);
  source?.close();
  source = null;
}

function hear(now) {
  offset = Date.parse(now) - Date.now();
  heard = performance.now();
  state("live", "Live");
}

async function lost() {
  disconnect();
  state("lost", "Reconnecting");
  // Only a request tells whether we are signed out or the server is away.
  const answer = await fetch("/approvals?status=pending").catch(() => null);
  if (answer?.status === 401) showSignIn();
  else retrying = setTimeout(connect, answer?.ok ? RETRY / 10 : RETRY);
}

function state(name, says) {
  $("connection").dataset.state = name;
  $("connection").textContent = says;
  $("lost").hidden = name !== "lost";
}

// The list

function whole({ operator, now, approvals }) {
  $("sign-in").hidden = true;
  $("inbox").hidden = false;
  $("operator").textContent = operator;
  hear(now);
  const here = new Set(approvals.filter((each) => each.status === "pending").map((each) => each.call_id));
  for (const id of [...cards.keys()]) if (!here.has(id)) remove(id);
  $("history").replaceChildren();
  for (const approval of approvals.toReversed()) {
    if (approval.status !== "pending") past(approval);
  }
  for (const approval of approvals) if (approval.status === "pending") add(approval);
  count();
}

function apply(approval) {
  if (approval.status === "pending") {
    if (add(approval)) say(`New request: ${approval.action}`);
  } else {
    const shown = remove(approval.call_id);
    past(approval);
    if (shown) say(sentence(approval));
  }
  count();
}

function add(approval) {
  if (cards.has(approval.call_id)) return false;
  const card = new Card(approval, (value, comment) => decide(card, value, comment));
  cards.set(approval.call_id, card);
  card.tick(Date.now() + offset);
  $("pending").append(card.element);
  return true;
}

function remove(callId) {
  const card = cards.get(callId);
  if (!card) return false;
  const had = card.element.contains(document.activeElement);
  const next = card.element.nextElementSibling ?? card.element.previousElementSibling;
  cards.delete(callId);
  card.element.remove();
  if (had) (next ?? $("pending-title")).focus({ preventScroll: true });
  settle();
  return true;
}

function past(approval) {
  const list = $("history");
  for (const element of list.children) if (element.dataset.call === approval.call_id) element.remove();
  const line = pastLine(approval);
  line.dataset.call = approval.call_id;
  list.prepend(line);
  while (list.children.length > KEPT) list.lastElementChild.remove();
}

function clear() {
  for (const id of [...cards.keys()]) remove(id);
  $("history").replaceChildren();
  count();
}

function count() {
  $("count").textContent = cards.size;
  $("nothing").hidden = cards.size > 0;
  $("past").hidden = $("history").children.length === 0;
  document.title = cards.size ? `(${cards.size}) Approvals` : "Approvals";
}

let settled = 0;
function settle() {
  $("pending").classList.add("settling");
  clearTimeout(settled);
  settled = setTimeout(() => $("pending").classList.remove("settling"), SETTLING);
}

// Answering

async function decide(card, answer, comment) {
  card.busy(true);
  card.problem("");
  try {
    const path = `/approvals/${encodeURIComponent(card.approval.call_id)}`;
    const reply = await post(path, comment.trim() ? { answer, comment } : { answer });
    const body = await reply.json();
    if (reply.status === 401) return showSignIn();
    if (body.approval) apply(body.approval);
    else card.problem(body.detail);
  } catch {
    card.problem("No answer from the server. If it was recorded, the request moves to the history.");
  }
  card.busy(false);
}

function say(text) {
  $("says").textContent = text;
}

// Keys, and time

document.addEventListener("keydown", (event) => {
  const typing = event.target.closest?.("input, textarea");
  if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
  const step = { j: 1, k: -1 }[event.key.toLowerCase()];
  if (step) move(step);
});

function move(step) {
  const all = [...cards.values()].map((card) => card.element);
  if (!all.length) return;
  const here = all.findIndex((element) => element.contains(document.activeElement));
  const next = here < 0 ? (step > 0 ? 0 : all.length - 1) : here + step;
  all[Math.min(all.length - 1, Math.max(0, next))].focus();
}

setInterval(() => {
  for (const card of cards.values()) card.tick(Date.now() + offset);
  if (source && performance.now() - heard > SILENCE) lost();
}, 1000);

// Nothing is shown before it is known whether someone is signed in.
fetch("/approvals?status=pending")
  .then((answer) => (answer.status === 401 ? showSignIn() : connect()))
  .catch(connect);

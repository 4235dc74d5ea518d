// A request as it is shown: a card while it waits, a line once it is over.

import { fill, readable, span } from "/text.js";

const LONG_LINES = 10;
const LONG_TEXT = 800;
const SOON = 60_000;
const ENDED = { yes: "Yes", no: "No", expired: "Expired", withdrawn: "Withdrawn" };
let cards = 0;

/** A request that waits. `answer(yes or no, comment)` is called when the operator decides. */
export class Card {
  constructor(approval, answer) {
    this.approval = approval;
    this.element = clone("card-template");
    this.comment = this.find(".comment");
    this.buttons = [...this.element.querySelectorAll(".buttons button")];
    this.#fill();
    for (const button of this.buttons) {
      button.addEventListener("click", () => answer(button.value, this.comment.value));
    }
    this.find("form").addEventListener("submit", (event) => event.preventDefault());
    this.comment.addEventListener("input", () => grow(this.comment));
  }

  find(selector) {
    return this.element.querySelector(selector);
  }

  #fill() {
    const title = this.find(".action");
    title.id = `action-${++cards}`;
    this.element.setAttribute("aria-labelledby", title.id);
    for (const button of this.buttons) button.setAttribute("aria-describedby", title.id);
    fill(title, this.approval.action);
    fillFacts(this.element, this.approval);
    fillDetails(this.find(".details"), this.approval.details);
    foldLong(this.find(".details"), this.find(".fold"));
  }

  /** Show how old it is and what time is left, at a time in milliseconds. */
  tick(now) {
    const asked = Date.parse(this.approval.requested_at);
    const ends = Date.parse(this.approval.expires_at);
    const age = this.find(".age");
    age.dateTime = this.approval.requested_at;
    age.title = new Date(asked).toLocaleString();
    age.textContent = now - asked < 5000 ? "Asked just now" : `Asked ${span(now - asked)} ago`;
    const left = this.find(".left");
    left.textContent = `${span(ends - now)} left`;
    left.title = `No answer by ${new Date(ends).toLocaleString()} counts as no`;
    left.classList.toggle("soon", ends - now < SOON);
    const part = Math.min(1, Math.max(0, (ends - now) / (ends - asked)));
    this.find(".bar").style.width = `${part * 100}%`;
  }

  busy(is) {
    // A button that is disabled loses the focus: keep it here, so that it can go on from here.
    if (is && this.element.contains(document.activeElement)) this.element.focus({ preventScroll: true });
    this.element.setAttribute("aria-busy", String(is));
    for (const button of this.buttons) button.disabled = is;
    this.comment.readOnly = is;
  }

  problem(text) {
    this.find(".problem").textContent = text;
  }
}

/** A request that is over. */
export function pastLine(approval) {
  const element = clone("past-template");
  const find = (selector) => element.querySelector(selector);
  const badge = find(".badge");
  badge.textContent = ENDED[approval.status];
  badge.dataset.status = approval.status;
  fill(find(".action"), approval.action);
  const when = new Date(approval.decided_at);
  const by = approval.decided_by ? `${approval.decided_by}, ` : "";
  find(".by").textContent = by + when.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
  find(".by").title = when.toLocaleString();
  fillFacts(element, approval);
  fillDetails(find(".details"), approval.details);
  if (approval.comment) {
    fill(find(".said"), approval.comment);
    find(".said").hidden = false;
  }
  return element;
}

/** What became of a request, in a sentence. */
export function sentence(approval) {
  if (approval.decided_by) return `${approval.decided_by} answered ${approval.status}: ${approval.action}`;
  return `${ENDED[approval.status]}: ${approval.action}`;
}

function fillFacts(element, approval) {
  fill(element.querySelector(".tenant"), approval.tenant_id);
  fill(element.querySelector(".session"), approval.session_id);
  fill(element.querySelector(".call"), approval.call_id);
}

function fillDetails(element, details) {
  const { text, isJson } = readable(details);
  fill(element, text);
  element.classList.toggle("json", isJson);
  element.hidden = text === "";
}

function foldLong(details, button) {
  const lines = details.textContent.split("\n").length;
  if (lines <= LONG_LINES && details.textContent.length <= LONG_TEXT) return;
  const show = (all) => {
    details.classList.toggle("folded", !all);
    button.setAttribute("aria-expanded", String(all));
    button.textContent = all ? "Show less" : `Show all of it (${size(lines, details.textContent)})`;
  };
  button.hidden = false;
  button.addEventListener("click", () => show(details.classList.contains("folded")));
  show(false);
}

function size(lines, text) {
  return lines > LONG_LINES ? `${lines} lines` : `${text.length.toLocaleString()} characters`;
}

function grow(textarea) {
  textarea.style.height = "auto";
  textarea.style.height = `${textarea.scrollHeight + 2}px`;
}

function clone(id) {
  return document.getElementById(id).content.firstElementChild.cloneNode(true);
}

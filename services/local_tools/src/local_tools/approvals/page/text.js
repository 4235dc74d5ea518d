// What an agent wrote, as it is safe to look at: only ever text, and nothing of it hidden.

// What has no look of its own: controls, marks that turn the direction of writing, joiners, blanks
// that pose as letters. Such characters can make a text read other than it is.
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cn}\p{Co}\p{Cs}\p{Zl}\p{Zp}\u115F\u1160\u2800\u3164\uFFA0]/gu;
const PLAIN = new Set(["\n", "\t"]);

/** Fill an element with a text, each unseen character as a chip with its code. */
export function fill(element, text) {
  element.replaceChildren();
  let from = 0;
  for (const { 0: character, index } of text.matchAll(UNSEEN)) {
    if (PLAIN.has(character)) continue;
    element.append(text.slice(from, index), chip(character));
    from = index + character.length;
  }
  element.append(text.slice(from));
}

function chip(character) {
  const code = character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
  const element = document.createElement("span");
  element.className = "chip";
  element.title = `A character that can't be seen: U+${code}`;
  element.textContent = `U+${code}`;
  return element;
}

/** Details as they are best read: JSON on lines of its own, any other text as it is. */
export function readable(details) {
  const text = details.replaceAll("\r\n", "\n").trim();
  if (!/^[[{]/.test(text)) return { text, isJson: false };
  try {
    JSON.parse(text);
  } catch {
    return { text, isJson: false };
  }
  return { text: indented(text), isJson: true };
}

// JSON with line breaks put in, and nothing else changed: reading and writing it anew would hide a
// key that is there twice and round long numbers.
function indented(json) {
  let depth = 0;
  const line = () => "\n" + "  ".repeat(depth);
  return json.replace(/"(?:[^"\\]|\\.)*"|[[{]\s*[\]}]|[[{\]},:]|\s+|[^\s[\]{},:"]+/g, (token) => {
    if (/^\s/.test(token)) return "";
    if (token === "{" || token === "[") return (depth++, token + line());
    if (token === "}" || token === "]") return (depth--, line() + token);
    if (token === ",") return token + line();
    if (token === ":") return ": ";
    return /^[[{]/.test(token) ? token.replace(/\s+/, "") : token;
  });
}

/** A time span in its largest unit: `3 min`. */
export function span(milliseconds) {
  const seconds = Math.max(0, Math.round(milliseconds / 1000));
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 36000) return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
  return seconds < 172800 ? `${Math.floor(seconds / 3600)} h` : `${Math.floor(seconds / 86400)} days`;
}

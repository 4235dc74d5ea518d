// Server-sent events out of text, in whatever pieces it comes.

/** Takes pieces of a stream, gives the data of the events that they complete. */
export class SseDecoder {
  #rest = "";
  #data: string[] = [];

  *feed(piece: string): Generator<string> {
    const lines = (this.#rest + piece).split("\n");
    this.#rest = lines.pop() ?? "";
    for (const ended of lines) {
      const line = ended.endsWith("\r") ? ended.slice(0, -1) : ended;
      if (line === "") {
        if (this.#data.length > 0) yield this.#data.join("\n");
        this.#data = [];
      } else if (line.startsWith("data:")) {
        this.#data.push(line.slice(line[5] === " " ? 6 : 5));
      }
    }
  }
}

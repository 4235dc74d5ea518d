// Loaded before a tool service: it listens on a free port, which is printed, and not on its own.
const { Server } = require("node:net");
const listen = Server.prototype.listen;

Server.prototype.listen = function (port, host, ready) {
  return listen.call(this, 0, "127.0.0.1", () => {
    console.log(`listening on ${this.address().port}`);
    for (const callback of [port, host, ready]) if (typeof callback === "function") callback();
  });
};

// Stands in for @vscode/spdlog in the editors under test: the module writes the files that output channels show, and its
// original must be compiled on each machine, which is slow and fails where the registry or the compiler has a bad day.
// It appends at once, so a test that reads a channel never waits for a flush.
const fs = require("fs");
const path = require("path");

const LEVELS = ["trace", "debug", "info", "warning", "error", "critical"];
let lowest = 2;

class Logger {
  constructor(_kind, _name, file) {
    this.file = file;
    this.level = lowest;
    this.plain = false;
  }
  getLevel() {
    return this.level;
  }
  setLevel(level) {
    this.level = level;
  }
  setPattern() {
    this.plain = false;
  }
  clearFormatters() {
    this.plain = true;
  }
  flush() {}
  drop() {}
  write(level, message) {
    if (level < this.level) return;
    const time = new Date().toISOString().replace("T", " ").replace("Z", "");
    fs.appendFileSync(this.file, this.plain ? message : `${time} [${LEVELS[level]}] ${message}\n`);
  }
}
["trace", "debug", "info", "warn", "error", "critical"].forEach((name, level) => {
  Logger.prototype[name] = function (message) {
    this.write(level, message);
  };
});

async function create(name, file) {
  fs.mkdirSync(path.dirname(file), { recursive: true });
  return new Logger("rotating", name, file);
}

// One by one: who imports this by name sees only what is assigned so.
exports.version = 0;
exports.setLevel = (level) => {
  lowest = level;
};
exports.setFlushOn = () => {};
exports.createRotatingLogger = create;
exports.createAsyncRotatingLogger = create;
exports.Logger = Logger;

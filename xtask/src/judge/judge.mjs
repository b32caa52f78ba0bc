// Runs judge.py in the Python of the npm package pyodide: node judge.mjs <folder of pyodide> <judge.py>, requests on stdin.
import { readFileSync, writeSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [folder, script] = process.argv.slice(2).map((path) => resolve(path));
let input = "";
process.stdin.setEncoding("utf8");
for await (const part of process.stdin) input += part;
const { loadPyodide } = await import(pathToFileURL(`${folder}/pyodide.mjs`));
const python = await loadPyodide({ indexURL: folder });
// The files of this machine, under their own names.
python.FS.mkdirTree("/host");
python.FS.mount(python.FS.filesystems.NODEFS, { root: "/" }, "/host");
const requests = input.replaceAll('{"path":"/', '{"path":"/host/');
const namespace = python.toPy({ __name__: "judge" });
python.runPython(readFileSync(script, "utf8"), { globals: namespace });
const out = Buffer.from(namespace.get("judge")(requests));
for (let at = 0; at < out.length; ) at += writeSync(1, out, at);

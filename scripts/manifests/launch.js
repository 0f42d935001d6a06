#!/usr/bin/env node
// Starts PROGRAM of the package for this system, which npm has installed beside this one.
"use strict";
const { spawn } = require("node:child_process");

const name = `@pennypost/${process.platform}-${process.arch}`;
let program;
try {
  program = require.resolve(`${name}/bin/PROGRAM${process.platform === "win32" ? ".exe" : ""}`);
} catch {
  const known = KNOWN;
  console.error(known.includes(name)
    ? `pennypost: the package ${name}, which has the program, is not installed. npm leaves it out with --omit=optional or --no-optional: install without.`
    : `pennypost: there is no program for ${process.platform} on ${process.arch}. There are ${known.join(", ")}.`);
  process.exit(1);
}
const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.on("error", (err) => {
  console.error(`pennypost: ${program} does not start: ${err.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => {
  if (!signal) process.exit(code);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});

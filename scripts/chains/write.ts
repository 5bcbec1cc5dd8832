// Writes service/chains.json and sources.json: `node scripts/run.js scripts/chains/write.ts`.

import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../tree.ts";
import { generateChains, generateSources } from "./generate.ts";

const files = {
  "service/chains.json": generateChains(),
  "scripts/chains/sources.json": generateSources(),
};
for (const [path, value] of Object.entries(files)) {
  writeFileSync(join(root, path), `${JSON.stringify(value, null, 2)}\n`);
}
const biome = join(root, "node_modules/.bin/biome");
execFileSync(biome, ["format", "--write", ...Object.keys(files)], { cwd: root });

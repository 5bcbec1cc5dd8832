// Compiles the contracts and writes snapshots/: `npm run snapshot -w contracts`.

import { writeFileSync } from "node:fs";
import { build } from "./build.ts";
import { snapshotFiles } from "./snapshots/files.ts";

build("out/deployed");
for (const [name, text] of Object.entries(snapshotFiles("out/deployed"))) {
  writeFileSync(`${import.meta.dirname}/snapshots/${name}`, text);
}

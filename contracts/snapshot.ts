// Compiles the contracts and writes snapshots/: `npm run snapshot -w contracts`.

import { readFileSync, writeFileSync } from "node:fs";
import { build } from "./build.ts";
import { snapshotFiles } from "./snapshots/files.ts";

const vaultCode = `${import.meta.dirname}/periphery/VaultCode.sol`;

/**
 * If the factory has changed, compiles twice. The periphery contains the factory's address and the
 * hashes of vault code.
 */
for (let before: string | undefined; before !== readFileSync(vaultCode, "utf8"); ) {
  before = readFileSync(vaultCode, "utf8");
  build("out/deployed");
  for (const [name, text] of Object.entries(snapshotFiles("out/deployed"))) {
    writeFileSync(`${import.meta.dirname}/snapshots/${name}`, text);
  }
}

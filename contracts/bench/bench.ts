// Measures the receipt gas of executions on anvil under Prague's rules. For comparison, also
// measures a lower bound: the same calls without any check (limit.ts). Each vault receives the
// exact amount. Each recipient already has a token balance, as a shop's wallet usually does. The
// last table compares three blocks of assembly with plain Solidity (assembly.ts). Run
// `npm run bench -w contracts`. With `-- --write`, the bench writes the figures to
// snapshots/gas.json. bench.test.ts compares its own figures with this file.

import { writeFileSync } from "node:fs";
import { compareAssembly, measure } from "./scenarios.ts";

const { figures, parts } = await measure();
console.table(figures);
console.log("Where one call of USDC goes:");
console.table(parts);
console.log("One call of USDC, if plain Solidity replaces the assembly in one function:");
console.table(await compareAssembly());
if (process.argv.includes("--write")) {
  const file = `${import.meta.dirname}/../snapshots/gas.json`;
  writeFileSync(file, `${JSON.stringify(figures, null, 2)}\n`);
}

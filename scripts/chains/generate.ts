// Builds service/chains.json from choices.ts, packages.json, and viem. Records the package and
// version of each value in sources.json. Run it with
// `node scripts/run.js scripts/chains/generate.ts`.

import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { getAddress, parseUnits } from "viem";
import * as viemChains from "viem/chains";
import { root } from "../tree.ts";
import { type Choice, chosen } from "./choices.ts";
import type { PackageFacts, PackageToken } from "./read-packages.ts";

const facts: PackageFacts = JSON.parse(
  readFileSync(new URL("packages.json", import.meta.url), "utf8"),
);
const { version: viemVersion } = JSON.parse(
  readFileSync(join(root, "node_modules/viem/package.json"), "utf8"),
) as { version: string };
const viemSource = `viem@${viemVersion}`;
const sourceOf = ({ from }: { from: keyof PackageFacts["packages"] }) =>
  `${from}@${facts.packages[from].version}`;

/** @throws if no package has the token, or if two packages state different addresses or decimals */
function findToken(chainId: number, symbol: string): PackageToken {
  const found = facts.tokens.filter(
    (token) => token.chainId === chainId && token.symbol === symbol,
  );
  const [first, ...others] = found;
  if (!first) throw new Error(`no package has ${symbol} of chain ${chainId}`);
  const other = others.find(
    ({ address, decimals }) =>
      getAddress(address) !== getAddress(first.address) || decimals !== first.decimals,
  );
  if (other) {
    const [one, two] = [first, other].map(
      ({ from, address, decimals }) => `${address} with ${decimals} decimals in ${from}`,
    );
    throw new Error(`${symbol} of chain ${chainId}: expected the same token, found ${one}, ${two}`);
  }
  return first;
}

/**
 * Ignores viem's "Preconf" entries, which repeat chains that viem also lists without
 * preconfirmations.
 */
function findViemChain(chainId: number) {
  const found = Object.entries(viemChains)
    .filter(([key, { id }]) => id === chainId && !key.endsWith("Preconf"))
    .map(([, chain]) => chain);
  const [first, other] = found;
  if (!first || other) throw new Error(`viem has ${found.length} chains with the ID ${chainId}`);
  return first as viemChains.Chain;
}

/**
 * @returns the package and version that contain the endpoint
 * @throws if no package contains it
 */
function findEndpoint(chainId: number, url: string): string {
  const same = (each: string) => each.replace(/\/$/, "") === url;
  if (findViemChain(chainId).rpcUrls.default.http.some(same)) return viemSource;
  const found = facts.chains.find((chain) => chain.chainId === chainId && chain.rpcUrls.some(same));
  if (!found) throw new Error(`no package has the endpoint ${url} of chain ${chainId}`);
  return sourceOf(found);
}

function entryOf(choice: Choice) {
  const { chainId, rpcUrls, confirmations, maxFeePerGas, maxPriorityFeePerGas } = choice;
  const { name, testnet, blockExplorers } = findViemChain(chainId);
  const tokenOf = ({ address, decimals }: PackageToken) => ({
    address: getAddress(address),
    decimals,
  });
  const recoverMin = ({ decimals }: PackageToken) =>
    String(parseUnits(choice.recoverMin, decimals) || 1n);
  const tokens = choice.tokens.map((symbol) => {
    const token = findToken(chainId, symbol);
    return { symbol, ...tokenOf(token), recoverMin: recoverMin(token) };
  });
  const lookalikes = choice.lookalikes.map(({ symbol, as = symbol, looksLike, ...more }) => {
    const token = findToken(chainId, symbol);
    return {
      ...{ symbol: as, name: more.name ?? token.name, ...tokenOf(token), looksLike },
      recoverMin: recoverMin(token),
    };
  });
  return {
    chainId,
    name: testnet ? `${name} (testnet)` : name,
    ...(testnet && { isTestnet: true }),
    rpcUrls,
    explorer: blockExplorers?.default.url.replace(/\/$/, ""),
    confirmations,
    maxFeePerGas,
    ...(maxPriorityFeePerGas && { maxPriorityFeePerGas }),
    tokens,
    ...(lookalikes.length > 0 && { lookalikes }),
  };
}

/** Returns the source of each value of a chain: a package and its version. */
function sourcesOf({ chainId, rpcUrls, tokens, lookalikes }: Choice) {
  const symbols = [...tokens, ...lookalikes.map(({ symbol }) => symbol)];
  return {
    chain: viemSource,
    endpoints: rpcUrls.map((url) => findEndpoint(chainId, url)),
    tokens: Object.fromEntries(
      symbols.map((symbol) => [symbol, sourceOf(findToken(chainId, symbol))]),
    ),
  };
}

/** The content of service/chains.json. */
export const generateChains = () => chosen.map(entryOf);
/** The content of sources.json. */
export const generateSources = () =>
  Object.fromEntries(chosen.map((choice) => [choice.chainId, sourcesOf(choice)]));
export const packageFacts = facts;

// Compares paths, because `import.meta.main` is false in a program that scripts/run.js imports.
if (resolve(process.argv[1] ?? "") === import.meta.filename) {
  const files = {
    "service/chains.json": generateChains(),
    "scripts/chains/sources.json": generateSources(),
  };
  for (const [path, value] of Object.entries(files)) {
    writeFileSync(join(root, path), `${JSON.stringify(value, null, 2)}\n`);
  }
  const biome = join(root, "node_modules/.bin/biome");
  execFileSync(biome, ["format", "--write", ...Object.keys(files)], { cwd: root });
}

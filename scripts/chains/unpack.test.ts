import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { unpackPackage } from "./unpack.ts";

describe("unpackPackage", () => {
  const { PATH } = process.env;
  const directory = mkdtempSync(join(tmpdir(), "unpack-"));
  const archive = join(directory, "published.tgz");

  before(() => {
    mkdirSync(join(directory, "package"));
    writeFileSync(join(directory, "package/code.json"), "{}");
    execFileSync("tar", ["czf", archive, "package"], { cwd: directory });
    // Takes the place of npm, which would download the archive.
    const npm = `#!/bin/sh\ncp "${archive}" code-1.0.0.tgz && echo code-1.0.0.tgz\n`;
    mkdirSync(join(directory, "bin"));
    writeFileSync(join(directory, "bin/npm"), npm, { mode: 0o700 });
    process.env.PATH = `${join(directory, "bin")}${delimiter}${PATH}`;
  });
  after(() => {
    process.env.PATH = PATH;
    rmSync(directory, { recursive: true });
  });

  const found = () =>
    `sha512-${createHash("sha512").update(readFileSync(archive)).digest("base64")}`;

  test("throws an error if the archive differs from the reviewed archive", () => {
    const reviewed = { version: "1.0.0", integrity: "sha512-reviewed" };
    assert.throws(() => unpackPackage(join(directory, "refused"), "code", reviewed), {
      message: `code@1.0.0: expected sha512-reviewed, found ${found()}`,
    });
  });

  test("returns the folder with the files of the reviewed archive", () => {
    const reviewed = { version: "1.0.0", integrity: found() };
    const folder = unpackPackage(join(directory, "accepted"), "code", reviewed);
    assert.equal(readFileSync(join(folder, "code.json"), "utf8"), "{}");
  });
});

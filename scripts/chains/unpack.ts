// Downloads packages that a script reads but that this project does not install.

import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** `integrity` of the package's archive, as shown by `npm view NAME dist.integrity`. */
export type PackageVersion = { version: string; integrity: string };

/**
 * Downloads a package's archive with `npm pack`, and unpacks it below `directory`. Runs none of its
 * scripts and downloads none of its dependencies.
 *
 * @returns the folder with the package's files
 * @throws if the archive differs from the reviewed archive
 */
export function unpackPackage(
  directory: string,
  name: string,
  { version, integrity }: PackageVersion,
): string {
  const folder = join(directory, name.replaceAll("/", "+"));
  mkdirSync(folder, { recursive: true });
  const pack = ["pack", "--silent", "--ignore-scripts", `${name}@${version}`];
  const archive = execFileSync("npm", pack, { cwd: folder, encoding: "utf8" }).trim();
  const found = createHash("sha512")
    .update(readFileSync(join(folder, archive)))
    .digest("base64");
  if (`sha512-${found}` !== integrity) {
    throw new Error(`${name}@${version}: expected ${integrity}, found sha512-${found}`);
  }
  execFileSync("tar", ["xzf", archive], { cwd: folder });
  return join(folder, "package");
}

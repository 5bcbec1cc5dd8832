// A small file of JSON in which a program notes how far it is. It is replaced whole.

import { readFile, rename, writeFile } from "node:fs/promises";

/** @returns `fresh` where there is no such file */
export async function readNote<Note>(file: string, fresh: Note): Promise<Note> {
  try {
    return JSON.parse(await readFile(file, "utf8"));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return fresh;
    throw error;
  }
}

export async function writeNote(file: string, note: unknown): Promise<void> {
  await writeFile(`${file}.new`, JSON.stringify(note));
  await rename(`${file}.new`, file);
}

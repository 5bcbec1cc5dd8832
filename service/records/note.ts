// Reads and writes notes. A note is a JSON file in which a program stores its progress, so that the
// next run can continue.

import { readFile, rename, writeFile } from "node:fs/promises";

/**
 * Reads a note.
 * @returns the note, or `fresh` if the file `file` does not exist
 */
export async function readNote<Note>(file: string, fresh: Note): Promise<Note> {
  try {
    return JSON.parse(await readFile(file, "utf8"));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return fresh;
    throw error;
  }
}

export async function writeNote(file: string, note: unknown): Promise<void> {
  await writeFile(`${file}.new`, JSON.stringify(note), { mode: 0o600, flush: true });
  await rename(`${file}.new`, file);
}

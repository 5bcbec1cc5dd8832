// Loads the built library with one file changed, so that derive.bench.ts can measure what the file
// gains by reusing buffers. The changed file creates new buffers for each call.

import assert from "node:assert/strict";
import { registerHooks } from "node:module";

/** For each file of dist/, texts that are replaced. Each text must occur exactly once. */
const changes: Record<string, readonly (readonly [text: string, replacement: string])[]> = {
  "derive.js": [
    [
      "const initCode = new Uint8Array(prefix.length + termsBytesMax);\ninitCode.set(prefix);\n",
      "",
    ],
    ["const preimage = new Uint8Array(85);\npreimage[0] = 0xff;\n", ""],
    [
      "    initCode.set(bytes, prefix.length);\n",
      `    const initCode = new Uint8Array(prefix.length + bytes.length);
    initCode.set(prefix);
    const preimage = new Uint8Array(85);
    preimage[0] = 0xff;
    initCode.set(bytes, prefix.length);
`,
    ],
  ],
  "abi/checksum.js": [
    ["const digits = newDigits(20);\nconst letters = digits.text.subarray(2);\n", ""],
    [
      "    writeDigits(digits, bytes);\n",
      `    const digits = newDigits(20);
    const letters = digits.text.subarray(2);
    writeDigits(digits, bytes);
`,
    ],
  ],
  "abi/writer.js": [
    [
      `    const writer = spare ?? newWriter();
    spare = undefined;
    try {
        return write(writer);
    }
    finally {
        writer.bytes.fill(0, 0, writer.at);
        writer.at = 0;
        spare = writer;
    }
`,
      "    return write(newWriter());\n",
    ],
  ],
};

export const filesWithReuse = Object.keys(changes);

/** After this call, `import` loads `file` of the built library with new buffers for each call. */
export function loadWithNewBuffers(file: string): void {
  const changed = new URL(`../dist/${file}`, import.meta.url).href;
  registerHooks({
    load(url, context, next) {
      const loaded = next(url, context);
      if (url !== changed) return loaded;
      let source = String(loaded.source);
      for (const [text, replacement] of changes[file]!) {
        assert.equal(source.split(text).length, 2, `${file} must contain once: ${text}`);
        source = source.replace(text, () => replacement);
      }
      return { ...loaded, source };
    },
  });
}

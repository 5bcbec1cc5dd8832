// npm run build -w web: builds the pages into dist/, or into the folder given as an argument.
// Within web/, the payment page and the dashboard share only ui/ and shown/. A payer therefore
// never downloads code of the dashboard.

import { join, resolve } from "node:path";
import tailwindcss from "@tailwindcss/vite";
import { build } from "vite";
import { writeDocs } from "./docs/write.ts";

const root = import.meta.dirname;
const outDir = resolve(process.argv[2] ?? join(root, "dist"));

// The pages use React's API, but run on Preact, which is smaller.
const resolveReact = {
  alias: {
    "react/jsx-runtime": "preact/jsx-runtime",
    "react-dom": "preact/compat",
    react: "preact/compat",
  },
};

await build({
  root,
  configFile: false,
  logLevel: "error",
  plugins: [tailwindcss()],
  resolve: resolveReact,
  build: {
    outDir,
    emptyOutDir: true,
    target: "es2024",
    // The HTML of each page lists all scripts of the page. Otherwise, a phone would need another
    // round trip to find imported scripts.
    modulePreload: { polyfill: false },
    // Inlined images would need `img-src data:` in the Content-Security-Policy.
    assetsInlineLimit: 0,
    rolldownOptions: {
      input: ["index.html", "pay.html"],
      // Disables the warnings about "use client", which has no effect here.
      checks: { moduleLevelDirective: false },
    },
  },
});

// A saved receipt contains a copy of its script. The script is therefore a single classic script
// without imports.
await build({
  root,
  configFile: false,
  logLevel: "error",
  publicDir: false,
  resolve: resolveReact,
  // Vite does not replace `process.env.NODE_ENV` in a library build, and browsers do not have
  // `process`.
  define: { "process.env.NODE_ENV": '"production"' },
  build: {
    outDir,
    emptyOutDir: false,
    target: "es2024",
    lib: {
      entry: "pay/receipt/main.tsx",
      formats: ["iife"],
      name: "receipt",
      fileName: () => "receipt.js",
      cssFileName: "receipt",
    },
  },
});

writeDocs(resolve(root, ".."), outDir);

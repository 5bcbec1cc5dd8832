// npm run build -w web: builds the pages into dist/ or a given folder. The pages share only ui/, so
// payers never download the dashboard.

import { join, resolve } from "node:path";
import tailwindcss from "@tailwindcss/vite";
import { build } from "vite";
import { writeDocs } from "./docs/write.ts";

const root = import.meta.dirname;
const outDir = resolve(process.argv[2] ?? join(root, "dist"));

// The pages are written for React and run on Preact, which needs fewer bytes.
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
    // Each page lists all its scripts. If a script were named only in another script, loading it
    // would cost a phone one more round trip.
    modulePreload: { polyfill: false },
    // A data: URL would need `img-src data:` in the pages' Content-Security-Policy.
    assetsInlineLimit: 0,
    rolldownOptions: {
      input: ["index.html", "pay.html"],
      // Silences warnings about "use client", which has no effect in this build.
      checks: { moduleLevelDirective: false },
    },
  },
});

// Receipts use one classic script without imports, because a saved receipt contains a copy.
await build({
  root,
  configFile: false,
  logLevel: "error",
  publicDir: false,
  resolve: resolveReact,
  // Vite does not replace `process.env.NODE_ENV` in a library build, and a browser has no
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

// npm run build -w web: the pages into dist/, or the folder it is given. They share only ui/: a
// payer never downloads the dashboard.

import { join, resolve } from "node:path";
import tailwindcss from "@tailwindcss/vite";
import { build } from "vite";
import { writeDocs } from "./docs/write.ts";

const root = import.meta.dirname;
const outDir = resolve(process.argv[2] ?? join(root, "dist"));

// The pages are written for React and run by Preact, which does the same in fewer bytes.
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
    // A page names all its scripts: on a phone one that names the next costs a round trip.
    modulePreload: { polyfill: false },
    // A data: URL would need img-src data: in the policy the pages are served with.
    assetsInlineLimit: 0,
    rolldownOptions: {
      input: ["index.html", "pay.html"],
      // "use client" means nothing here.
      checks: { moduleLevelDirective: false },
    },
  },
});

// One classic script without imports: a receipt that is kept has a copy of it within.
await build({
  root,
  configFile: false,
  logLevel: "error",
  publicDir: false,
  resolve: resolveReact,
  // A library build leaves this to whoever bundles it, and a browser has no `process`.
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

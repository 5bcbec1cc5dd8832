// Builds the documentation pages from the Markdown in docs/ and spec/, and from spec/openapi.json.
// The pages are plain HTML with relative links, one style sheet, and a few classic scripts. The
// pages therefore also work without a server.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, extname, join } from "node:path";
import { Marked, type Tokens } from "marked";
import { writeReference } from "./reference.ts";

/**
 * The pages in the order of the menu, as paths from the project's root. The first page is the start
 * page.
 */
const sources = [
  "docs/index.md",
  "docs/quickstart.md",
  "docs/web-shop.md",
  "docs/intents.md",
  "docs/paying.md",
  "docs/embedding.md",
  "docs/api.md",
  "docs/status-and-events.md",
  "docs/returns.md",
  "docs/webhooks.md",
  "docs/verifying.md",
  "docs/without-us.md",
  "docs/credentials.md",
  "docs/cli.md",
  "docs/self-hosting.md",
  "docs/executor.md",
  "docs/launch.md",
  "docs/production.md",
  "spec/service.md",
  "spec/terms.md",
  "spec/proof.md",
  "spec/openapi.json",
];

type Page = { file: string; title: string; text: string };
type Heading = { page: string; title: string; heading: string; id: string; text: string };

/**
 * Writes the pages to the folder `docs` in `out`. Also writes all pages as one text for machines to
 * `llms-full.txt` in `out`.
 */
export function writeDocs(root: string, out: string): void {
  const pages = sources
    .filter((path) => existsSync(join(root, path)))
    .map((path): Page => {
      const source = readFileSync(join(root, path), "utf8");
      const text = path.endsWith(".json") ? writeReference(source) : source;
      return { file: pageOf(path), title: /^# (.*)$/m.exec(text)?.[1] ?? path, text };
    });
  const index: Heading[] = [];
  mkdirSync(join(out, "docs"), { recursive: true });
  for (const page of pages) {
    writeFileSync(join(out, "docs", page.file), htmlOf(page, pages, index));
  }
  const found = `globalThis.docsIndex = ${JSON.stringify(index)};\n`;
  writeFileSync(join(out, "docs/search.js"), found);
  writeFileSync(join(out, "llms-full.txt"), pages.map(({ text }) => text).join("\n\n"));
}

const pageOf = (path: string) => `${basename(path, extname(path))}.html`;

const tryScript = '\n<script src="try.js" defer></script>';

function htmlOf(page: Page, pages: readonly Page[], index: Heading[]): string {
  const menu = pages.map(({ file, title }) => {
    const present = file === page.file ? ' aria-current="page"' : "";
    return `<li><a href="${file}"${present}>${escaped(title)}</a></li>`;
  });
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="description" content="Executable Address Service: ${escaped(page.title)}">
<title>${escaped(page.title)} · Executable addresses</title>
<link rel="icon" href="../mark.svg" type="image/svg+xml">
<link rel="stylesheet" href="docs.css">
<script src="../theme.js"></script>
<script src="search.js" defer></script>
<script src="docs.js" defer></script>${page.file === "openapi.html" ? tryScript : ""}
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header><a href="index.html">Executable addresses</a>
<search><input type="search" aria-label="Search the documentation" placeholder="Search"
 autocomplete="off"><ul id="found" aria-live="polite" hidden></ul></search></header>
<nav aria-label="Documentation"><details><summary>Pages</summary><ul>${menu.join("\n")}</ul></details></nav>
<main id="content">${bodyOf(page, pages, index)}</main>
</body>
</html>
`;
}

function bodyOf(page: Page, pages: readonly Page[], index: Heading[]): string {
  const marked = new Marked();
  marked.use({
    renderer: {
      heading({ tokens, depth, text }) {
        const id = slugOf(text);
        index.push({ page: page.file, title: page.title, heading: plain(text), id, text: "" });
        return `<h${depth} id="${id}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
      },
      paragraph({ tokens, text }) {
        const last = index.at(-1);
        if (last?.page === page.file) last.text = `${last.text} ${plain(text)}`.slice(0, 600);
        return `<p>${this.parser.parseInline(tokens)}</p>\n`;
      },
      // A link to a file that is not a page becomes plain text. The server does not serve these
      // files.
      link({ href, tokens }) {
        const text = this.parser.parseInline(tokens);
        const [path = "", heading] = href.split("#");
        const anchor = heading ? `#${heading}` : "";
        if (/^https?:/.test(href)) return `<a href="${escaped(href)}" rel="noreferrer">${text}</a>`;
        if (path === "") return `<a href="${anchor}">${text}</a>`;
        const file = pageOf(path);
        if (!pages.some((each) => each.file === file))
          return `<span title="${path}">${text}</span>`;
        return `<a href="${file}${anchor}">${text}</a>`;
      },
      table(token) {
        const cell = (tag: string) => (each: Tokens.TableCell) =>
          `<${tag}>${this.parser.parseInline(each.tokens)}</${tag}>`;
        const rows = token.rows.map((row) => `<tr>${row.map(cell("td")).join("")}</tr>`);
        // A column without a name gets no header cell. Screen readers would announce an empty cell.
        const names = token.header.map((each) => cell(each.text === "" ? "td" : "th")(each));
        const head = `<thead><tr>${names.join("")}</tr></thead>`;
        const body = `<tbody>${rows.join("")}</tbody>`;
        const frame = '<div class="wide" tabindex="0" role="group" aria-label="Table">';
        return `${frame}<table>${head}${body}</table></div>\n`;
      },
    },
  });
  return marked.parse(page.text, { async: false });
}

/** Creates the same anchors as GitHub, because links in the Markdown use them. */
const slugOf = (text: string): string =>
  text
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, "")
    .replaceAll(" ", "-");

const plain = (markdown: string): string =>
  markdown.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").replace(/[`*]/g, "");

/**
 * Escapes text for elements and for attributes in double quotes. The service's preview.ts has its
 * own function, because neither this folder nor the service may import code of the other.
 */
const escaped = (text: string): string =>
  text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);

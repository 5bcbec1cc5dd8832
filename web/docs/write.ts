// Builds the documentation pages from the Markdown in docs/ and spec/, and the API reference from
// spec/openapi.json. The pages are plain HTML with relative links, one style sheet, and a few
// classic scripts. The pages therefore also work without a server.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, extname, join } from "node:path";
import { Marked, type Tokens } from "marked";

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

type Schema = {
  $ref?: string;
  type?: string | string[];
  description?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  enum?: unknown[];
  const?: unknown;
  pattern?: string;
  oneOf?: Schema[];
  anyOf?: Schema[];
  allOf?: Schema[];
};
type Body = {
  description?: string;
  content?: Record<string, { schema?: Schema; example?: unknown }>;
};
type Parameter = { $ref?: string; name: string; in: string; required?: boolean } & Body & {
    schema?: Schema;
  };
type Operation = {
  tags: string[];
  summary: string;
  description?: string;
  security?: Record<string, unknown>[];
  parameters?: Parameter[];
  requestBody?: Body;
  responses: Record<string, Body & { $ref?: string }>;
};
const methods = ["get", "post", "delete"] as const;
type Method = (typeof methods)[number];
type OpenApi = {
  tags: { name: string; description: string }[];
  paths: Record<string, { parameters?: Parameter[] } & Record<Method, Operation | undefined>>;
  components: { schemas: Record<string, Schema> };
};

/**
 * Writes the API reference: one page, with a form to try each operation. spec/decisions.md compares
 * this page with existing viewers.
 *
 * @param text spec/openapi.json
 * @returns Markdown with HTML forms
 */
function writeReference(text: string): string {
  const api = JSON.parse(text) as OpenApi;
  const sections = api.tags.map(({ name, description }) => {
    const operations = Object.keys(api.paths).flatMap((path) =>
      methods
        .filter((method) => api.paths[path]![method]?.tags.includes(name))
        .map((method) => sayOperation(api, method, path)),
    );
    return [`## ${name[0]!.toUpperCase()}${name.slice(1)}`, `${description}.`, ...operations].join(
      "\n\n",
    );
  });
  const schemas = Object.entries(api.components.schemas).map(([name, schema]) =>
    [`### ${name}`, schema.description ?? "", fieldsOf(schema)].join("\n\n"),
  );
  return [
    "# API reference",
    `Every path starts with \`/v1\`. [The API](../docs/api.md) explains keys, limits, and errors.
The forms send requests from your browser. Your input stays in this page and is deleted when you
leave it. To create or check an address here, use a client ID, and allow this page's origin in the
dashboard.
For operations that require an API key, copy the command: the service rejects API keys from
browsers.`,
    keyForm,
    ...sections,
    "## Shapes",
    ...schemas,
  ].join("\n\n");
}

const keyForm = `<p class="key"><label>API key or client ID
 <input type="password" id="key" autocomplete="off"
 spellcheck="false" placeholder="svc_sk_…"></label></p>`;

function sayOperation(api: OpenApi, method: Method, path: string): string {
  const { parameters: shared = [] } = api.paths[path]!;
  const operation = api.paths[path]![method]!;
  const parameters = [...shared, ...(operation.parameters ?? [])]
    .map((each) => (each.$ref ? resolve<Parameter>(api, each.$ref) : each))
    .filter((each) => each.in !== "header");
  const { requestBody, responses } = operation;
  const rows = parameters.map(({ name, in: place, required, description, schema }) => [
    `\`${name}\``,
    `${place}${required ? ", needed" : ""}`,
    typeOf(schema),
    description ?? schema?.description ?? "",
  ]);
  const answers = Object.entries(responses).map(([status, response]) => {
    const answer = response.$ref ? resolve<Body>(api, response.$ref) : response;
    return [status, answer.description ?? "", typeOf(schemaOf(answer))];
  });
  return [
    `### ${operation.summary}`,
    `\`${method.toUpperCase()} ${path}\` · ${sayKeys(operation.security)}`,
    operation.description ?? "",
    tableOf(["Parameter", "In", "Type", "Meaning"], rows),
    requestBody ? `Body: ${typeOf(schemaOf(requestBody))}. ${requestBody.description ?? ""}` : "",
    formOf(method.toUpperCase(), path, parameters, requestBody),
    tableOf(["Answer", "Meaning", "Body"], answers),
  ].join("\n\n");
}

const keyNames: Record<string, string> = { apiKey: "API key", clientId: "client ID" };
const sayKeys = (security: Operation["security"] = []): string => {
  const keys = security.flatMap((each) => Object.keys(each).map((key) => keyNames[key] ?? key));
  return keys.length > 0 ? keys.join(" or ") : "no key";
};

function formOf(
  method: string,
  path: string,
  parameters: Parameter[],
  requestBody: Body | undefined,
): string {
  const inputs = parameters.map(
    ({ name, in: place, required }) =>
      `<label>${name} <input name="${name}" data-in="${place}"${required ? " required" : ""}
 spellcheck="false"></label>`,
  );
  const [media] = Object.values(requestBody?.content ?? {});
  const example = JSON.stringify(media?.example, null, 2);
  const body = media
    ? `<label>Body, JSON <textarea name="body" rows="${Math.min(example.split("\n").length, 20)}"
 spellcheck="false">${example.replaceAll("\n", "&#10;")}</textarea></label>`
    : "";
  return `<form class="try" data-method="${method}" data-path="${path}">
${inputs.join("")}${body}<button>Send</button>
<button type="button" class="curl">Copy as curl</button><output></output></form>`;
}

/**
 * Lists the fields of an object, one per row. If the type of a field is another schema, the field
 * links to this schema.
 */
function fieldsOf({
  properties = {},
  required = [],
  oneOf,
  anyOf,
  allOf,
  ...rest
}: Schema): string {
  const rows = Object.entries(properties).map(([name, field]) => [
    `\`${name}\``,
    `${typeOf(field)}${required.includes(name) ? "" : ", may be absent"}`,
    field.description ?? "",
  ]);
  if (rows.length > 0) return tableOf(["Field", "Type", "Meaning"], rows);
  const parts = oneOf ?? anyOf ?? allOf;
  return parts ? parts.map((part) => `- ${typeOf(part)}`).join("\n") : typeOf(rest);
}

function typeOf(schema: Schema | undefined): string {
  if (!schema) return "";
  const { $ref, type, items, const: constant, pattern, properties } = schema;
  if ($ref) return `[${nameOf($ref)}](#${nameOf($ref).toLowerCase()})`;
  if (constant !== undefined) return `\`${JSON.stringify(constant)}\``;
  if (schema.enum) return schema.enum.map((value) => `\`${JSON.stringify(value)}\``).join(", ");
  const parts = schema.oneOf ?? schema.anyOf ?? schema.allOf;
  if (parts) return parts.map(typeOf).join(schema.allOf ? " with " : " or ");
  if (items) return `list of ${typeOf(items)}`;
  if (properties)
    return `object of ${Object.keys(properties)
      .map((key) => `\`${key}\``)
      .join(", ")}`;
  const name = [type ?? "anything"].flat().join(" or ");
  return pattern ? `${name} like \`${pattern}\`` : name;
}

const schemaOf = ({ content = {} }: Body): Schema | undefined => Object.values(content)[0]?.schema;

const nameOf = ($ref: string): string => $ref.split("/").at(-1)!;

const resolve = <T>(api: OpenApi, $ref: string): T =>
  $ref
    .slice(2)
    .split("/")
    .reduce<unknown>((value, key) => (value as Record<string, unknown>)[key], api) as T;

function tableOf(head: string[], rows: string[][]): string {
  if (rows.length === 0) return "";
  const line = (cells: string[]) =>
    `| ${cells.map((cell) => cell.replaceAll("|", "\\|").replaceAll("\n", " ")).join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}

// Builds the API reference from spec/openapi.json: one page, with a form to try each operation.
// spec/decisions.md compares this page with existing viewers.

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
 * @param text spec/openapi.json
 * @returns Markdown with HTML forms
 */
export function writeReference(text: string): string {
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

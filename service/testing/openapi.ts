// Checks the status, the headers, and the body of responses against spec/openapi.json. Rejects
// undocumented fields.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { Ajv2020 } from "ajv/dist/2020.js";

type Schema = Record<string, unknown>;
type Reference = { $ref: string };
type Header = { required?: boolean; schema: Schema };
type Answer = {
  headers?: Record<string, Header | Reference>;
  content?: Record<string, { schema: Schema; example?: unknown }>;
};
type Operation = { tags: string[]; responses: Record<string, Answer | Reference> };
type Method = "get" | "post" | "delete";
type Document = {
  paths: Record<string, Partial<Record<Method, Operation>>>;
  /** The documented webhook requests, by event type. */
  webhooks: Record<string, { post: { requestBody: Answer } }>;
  components: { schemas: Record<string, Schema>; responses: Record<string, Answer> };
  /** Responses that are not for a specific operation. */
  "x-responses": Record<string, Answer>;
};

/** The parts of a response that the tests check. Header names are in lowercase. */
export type Answered = {
  statusCode: number;
  headers: Record<string, string | string[] | number | undefined>;
  body: string;
};

const text = readFileSync(new URL("../../spec/openapi.json", import.meta.url), "utf8");
export const document: Document = JSON.parse(text);

/**
 * A copy of the document for responses in tests, which must not contain undocumented fields. Except
 * in intents, the original document allows undocumented fields in responses, so that clients accept
 * new fields.
 */
const closed: Document = JSON.parse(text);
for (const schema of Object.values(closed.components.schemas)) close(schema);
/** The format `date-time` in the document means RFC 3339. */
const formats = { "date-time": /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/ };
const ajv = new Ajv2020({ strict: false, allErrors: true, formats }).addSchema(closed, "api");

/** Headers that Node adds and the document does not describe. */
const unjudged = ["connection", "content-length", "date", "keep-alive", "transfer-encoding"];

/** @throws if the response does not match the document's operation at `path` and `method` */
export function judge(answered: Answered, path: string, method: Method): void {
  const pointer = `/paths/${path.replaceAll("/", "~1")}/${method}/responses/${answered.statusCode}`;
  const described = document.paths[path]?.[method]?.responses[answered.statusCode];
  assert.ok(described, `${method} ${path} is not said to answer ${answered.statusCode}`);
  judgeBy(answered, described, pointer);
}

/** Checks a response that is not for a specific operation, such as a preflight response. */
export function judgeAs(answered: Answered, name: string): void {
  const described = document["x-responses"][name];
  assert.ok(described, `no response is called ${name}`);
  judgeBy(answered, described, `/x-responses/${name}`);
}

/** @param value the data of a `status` event in a stream */
export function judgeStatus(value: unknown): void {
  const isRight = ajv.validate({ $ref: "api#/components/schemas/Status" }, value);
  assert.ok(isRight, `${ajv.errorsText()} in ${JSON.stringify(value)}`);
}

/** @param body the body of a webhook request */
export function judgeEvent(type: string, body: unknown): void {
  const at = `/webhooks/${type}/post/requestBody/content/application~1json/schema`;
  const isRight = ajv.validate({ $ref: `api#${at}` }, body);
  assert.ok(isRight, `${type}: ${ajv.errorsText()} in ${JSON.stringify(body)}`);
}

/**
 * Checks an example of a request body or of a response.
 *
 * @param at the JSON pointer to the request body or the response in the document
 */
export function judgeExample(at: string, example: unknown): void {
  const $ref = `api#${escaped(at)}/content/application~1json/schema`;
  assert.ok(ajv.validate({ $ref }, example), `${at}: ${ajv.errorsText()}`);
}

function judgeBy(answered: Answered, described: Answer | Reference, pointer: string): void {
  const at = "$ref" in described ? described.$ref.slice(1) : pointer;
  const { headers = {}, content } = "$ref" in described ? resolve<Answer>(described) : described;
  const names = new Map(Object.keys(headers).map((name) => [name.toLowerCase(), name]));
  for (const [name, value] of Object.entries(answered.headers)) {
    if (unjudged.includes(name) || name === "content-type") continue;
    assert.ok(names.has(name), `${at} describes no header ${name}`);
    const header = headers[names.get(name)!]!;
    const { schema } = "$ref" in header ? resolve<Header>(header) : header;
    assert.ok(ajv.validate(schema, String(value)), `${at}: ${name} is ${value}`);
  }
  for (const [lower, name] of names) {
    const header = headers[name]!;
    const { required } = "$ref" in header ? resolve<Header>(header) : header;
    assert.ok(!required || answered.headers[lower] !== undefined, `${at}: no header ${name}`);
  }
  const [type] = String(answered.headers["content-type"] ?? "").split(";");
  assert.deepEqual(type ? [type] : [], Object.keys(content ?? {}), `${at}: content type`);
  if (type !== "application/json" || answered.body === "") return;
  const $ref = `api#${escaped(at)}/content/application~1json/schema`;
  const isRight = ajv.validate({ $ref }, JSON.parse(answered.body));
  assert.ok(isRight, `${at}: ${ajv.errorsText()} in ${answered.body}`);
}

/** Escapes the braces of path templates, because braces are not valid in URIs. */
const escaped = (pointer: string) => pointer.replaceAll("{", "%7B").replaceAll("}", "%7D");

function resolve<Found>({ $ref }: Reference): Found {
  let found: unknown = document;
  for (const key of $ref.slice(2).split("/")) found = (found as Schema)[key];
  return found as Found;
}

function close(schema: unknown): void {
  if (typeof schema !== "object" || schema === null) return;
  if ("properties" in schema) Object.assign(schema, { additionalProperties: false });
  for (const inner of Object.values(schema)) close(inner);
}

/** Returns every documented error with its status, such as "404 not_found". */
export function documentedCodes(): Set<string> {
  const found = new Set<string>();
  for (const { get, post, delete: remove } of Object.values(document.paths)) {
    const all = [get, post, remove].map((operation) => operation?.responses ?? {});
    for (const [status, answer] of all.flatMap(Object.entries<Answer | Reference>)) {
      if (!("$ref" in answer)) continue;
      for (const code of codesOf(resolve(answer))) found.add(`${status} ${code}`);
    }
  }
  return found;
}

type Narrowed = { allOf?: { properties?: { error: { properties: { code: Schema } } } }[] };

/**
 * Returns the error codes that are documented for a response. The response's schema is the general
 * error schema, restricted to these codes.
 */
export function codesOf({ content }: Answer): unknown[] {
  const { allOf = [] } = (content?.["application/json"]?.schema ?? {}) as Narrowed;
  const { const: one, enum: some } = allOf[1]?.properties?.error.properties.code ?? {};
  return one === undefined ? ((some ?? []) as unknown[]) : [one];
}

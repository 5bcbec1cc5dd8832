// Generates the OpenAPI document from the operations, the response shapes, and the request schemas.
// `npm run openapi -w service` writes spec/openapi.json.

import { termsBytesMax } from "executable-address";
import { apiKeyFormat, clientIdFormat } from "executable-address/client/internal";
import { testEvent } from "executable-address/shapes";
import { type EventType, eventTypes } from "executable-address/webhook";
import { daySeconds } from "../../flow/days.ts";
import { apiPrefix } from "../../store/record.ts";
import { deliveryTimeoutMs } from "../../webhooks/send.ts";
import { hexPattern } from "../input.ts";
import { defaultLimits } from "../limits.ts";
import type { Schema } from "./comments.ts";
import { exampleEvent, examples, exampleTest } from "./examples.ts";
import { type Operation, type OperationId, operations } from "./operations.ts";
import {
  counted,
  describeRefusals,
  describeUnowned,
  everywhere,
  headers,
  referTo,
  statusOf,
} from "./responses.ts";
import { describeComponents, describeInput, describeShape } from "./schemas.ts";

const info = {
  title: "Executable Address Service",
  version: "1",
  contact: { name: "The operator of the service that serves this document" },
  license: { name: "MIT", identifier: "MIT" },
  description:
    "Turns an intent into an address whose purpose cannot change: money that is sent to it can " +
    "only be used as the intent says. Every path with GET also accepts HEAD, and every path " +
    "accepts OPTIONS (`Preflight`). `x-responses` describes the responses that no operation " +
    "lists: `MethodNotAllowed`, `UnknownPath`, and the errors of requests that are rejected " +
    "before they are parsed (`NotHttp`, `HeadersOverflow`, `RequestTimeout`, " +
    "`ExpectationFailed`). These errors have no X-Request-Id. Changes to /v1 are backward " +
    "compatible. New fields, error codes, and headers can be added, so ignore fields, codes, " +
    "and headers that you do not know.",
};

const tags = [
  {
    name: "addresses",
    description: "Create and look up a single address, read its status, and prove its outcome",
  },
  { name: "account", description: "List the account's addresses and events with an API key" },
  {
    name: "webhooks",
    description: "Manage webhook endpoints with an API key that has the scope `webhooks`",
  },
  { name: "service", description: "Get the service's chains and tokens, and this document" },
];

const securitySchemes = {
  apiKey: {
    type: "http",
    scheme: "bearer",
    bearerFormat: `${apiKeyFormat}. The last 8 digits are the CRC-32 of the text before them.`,
    description:
      "A secret key for servers. Requests with an `Origin` header are rejected with 403.",
  },
  clientId: {
    type: "apiKey",
    in: "header",
    name: "X-Client-Id",
    description:
      `A public ID for web pages: ${clientIdFormat}. The last 8 digits are the CRC-32 of the ` +
      "text before them. The ID is accepted only from the origins that the account allows, and " +
      "not together with an API key.",
  },
};

export function describeApi(): Schema {
  const schemas = describeComponents();
  return {
    openapi: "3.1.0",
    info,
    tags,
    servers: [{ url: apiPrefix, description: "The API on the host that serves this document" }],
    paths: describePaths(),
    webhooks: describeWebhooks(),
    components: {
      securitySchemes,
      schemas: { ...schemas, ...describeIntents(schemas) },
      headers,
      responses: describeRefusals(),
      parameters: webhookParameters,
    },
    "x-responses": describeUnowned(),
  };
}

/**
 * Returns the schemas of intents and of their calls, which do not allow unknown fields. `NewIntent`
 * describes the intent in a request, which can omit the salt.
 */
function describeIntents({ Intent, Call }: Record<string, Schema>): Record<string, Schema> {
  const { salt, expirationTimestamp, ...fields } = Intent!.properties as Record<string, Schema>;
  const { expirySecondsMin, expirySecondsMax } = defaultLimits;
  const [minutes, days] = [expirySecondsMin / 60, expirySecondsMax / daySeconds];
  const termsBytes = termsBytesMax.toLocaleString("en-US");
  const required = (Intent!.required as string[]).filter((name) => name !== "salt");
  return {
    Call: { ...Call, additionalProperties: false },
    Intent: { ...Intent, additionalProperties: false },
    NewIntent: {
      type: "object",
      description:
        "The intent that you send to create an address. Hex can be in any letter case, except " +
        "that a mixed-case address must have a valid EIP-55 checksum. All other values must be " +
        `in canonical form. The encoded intent has at most ${termsBytes} bytes.`,
      properties: {
        ...fields,
        expirationTimestamp: {
          ...expirationTimestamp,
          description:
            "The last second in which the calls can be executed, as a Unix time of the chain's " +
            `clock. By default it must be ${minutes} minutes to ${days} days in the future; ` +
            "the operator can configure other limits.",
        },
        salt: {
          ...{ type: "string", pattern: hexPattern(32).source },
          description:
            `${salt!.description} If you omit the salt in a request with an API key ` +
            "and a reference, the salt is derived from the reference. Otherwise it is random.",
        },
      },
      required,
      additionalProperties: false,
    },
  };
}

function describePaths(): Schema {
  const paths: Record<string, Schema> = {};
  for (const [id, operation] of Object.entries(operations)) {
    paths[operation.path] = {
      ...paths[operation.path],
      [operation.method.toLowerCase()]: describeOperation(id as OperationId, operation),
    };
  }
  return paths;
}

function describeOperation(id: OperationId, operation: Operation): Schema {
  const { tag, summary, description, credentials, body } = operation;
  const parameters = describeParameters(id, operation);
  return {
    tags: [tag],
    operationId: id,
    summary,
    ...(description && { description }),
    security: credentials.map((name) => ({ [name]: [] })),
    ...(parameters.length > 0 && { parameters }),
    ...(body && {
      requestBody: {
        required: true,
        ...(body === "intent" && { description: "The intent." }),
        content: {
          "application/json": {
            schema: body === "intent" ? describeNewIntent : describeInput(body),
            example: examples[id].body,
          },
        },
      },
    }),
    responses: {
      ...describeAnswers(id, operation),
      ...Object.fromEntries(
        operation.refusals.map((name) => [
          statusOf(name),
          { $ref: `#/components/responses/${name}` },
        ]),
      ),
    },
  };
}

const describeNewIntent = { $ref: "#/components/schemas/NewIntent" };

function describeAnswers(id: OperationId, operation: Operation): Schema {
  const { answer, answers, credentials, unchanged } = operation;
  const sent = referTo({
    ...everywhere,
    ...operation.headers,
    ...(credentials.length > 0 && counted),
  });
  const type = answer === "stream" ? "text/event-stream" : "application/json";
  const { answer: example } = examples[id];
  const content = { schema: describeContent(answer), ...(example !== undefined && { example }) };
  return {
    "200": { description: answers, headers: sent, content: { [type]: content } },
    ...(unchanged && { "304": { description: unchanged, headers: sent } }),
  };
}

function describeContent(answer: Operation["answer"]): Schema {
  if (answer === "stream") return { type: "string" };
  return answer === "document" ? { type: "object" } : describeShape(answer);
}

const readHeaders = {
  "If-None-Match": "The ETag of an earlier response. If it is still current, the response is 304.",
  "Last-Event-ID":
    "The `id` of the last event that you received. Browsers send it automatically when they " +
    "reconnect.",
};

function describeParameters(id: OperationId, { path, query, reads = [] }: Operation): Schema[] {
  const example = examples[id] as { path?: Schema; query?: Schema };
  const { properties = {}, required = [] } = query ? describeInput(query) : {};
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    ...{ name: name!, in: "path", required: true, ...pathParameters[name as "id"] },
    example: example.path?.[name!],
  }));
  const inQuery = Object.entries(properties as Record<string, Schema>).map(
    ([name, { description, ...schema }]) => ({
      ...{
        name,
        in: "query",
        required: (required as string[]).includes(name),
        description,
        schema,
      },
      ...(example.query?.[name] !== undefined && { example: example.query[name] }),
    }),
  );
  const inHeader = reads.map((name) => ({
    ...{ name, in: "header", description: readHeaders[name], schema: { type: "string" } },
  }));
  return [...inPath, ...inQuery, ...inHeader];
}

const pathParameters = {
  address: {
    description: "The executable address, in any letter case.",
    schema: { type: "string", pattern: hexPattern(20).source },
  },
  id: { description: "The ID of the event or endpoint.", schema: { type: "string" } },
};

const webhookParameters = {
  WebhookId: {
    ...{ name: "webhook-id", in: "header", required: true },
    description: "The event's ID, which is the same for each attempt and replay.",
    schema: { type: "string" },
  },
  WebhookTimestamp: {
    ...{ name: "webhook-timestamp", in: "header", required: true },
    description:
      "The time of the attempt in Unix seconds. Reject a delivery whose timestamp differs from " +
      "your clock by more than 5 minutes.",
    schema: { type: "string", pattern: "^[0-9]+$" },
  },
  WebhookSignature: {
    ...{ name: "webhook-signature", in: "header", required: true },
    description:
      "Signatures as defined by Standard Webhooks 1.0, separated by spaces: a `v1` signature " +
      "(HMAC-SHA256) for each valid secret of the endpoint, and a `v1a` signature (Ed25519) for " +
      "each signing key of the service.",
    schema: { type: "string" },
  },
};

const summaries: Record<EventType, string> = {
  "address.payment": "Money arrived",
  "address.funded": "The address received the full amount",
  "address.executed": "The calls were executed",
  "address.expired": "The address expired without an execution and has money",
  "address.recovered": "Money was sent to the recovery address",
  "address.surplus": "The address was executed and has money that the calls did not use",
  "address.reverted": "A reorganization reverted a fact that an earlier event reported",
};

function describeWebhooks(): Schema {
  const events = eventTypes.map((type) => {
    const narrowed = { properties: { type: { const: type } } };
    const schema = { allOf: [{ $ref: "#/components/schemas/Event" }, narrowed] };
    return [type, describeWebhook(type, summaries[type], schema, exampleEvent(type))];
  });
  const [type] = testEvent.properties.type.enum!;
  const test = describeWebhook(
    type!,
    "A test event that you requested",
    describeShape(testEvent),
    exampleTest,
  );
  return Object.fromEntries([...events, [type, test]]);
}

function describeWebhook(type: string, summary: string, schema: Schema, example: object): Schema {
  const words = type.split(".").map((word) => word[0]!.toUpperCase() + word.slice(1));
  return {
    post: {
      tags: ["webhooks"],
      operationId: `on${words.join("")}`,
      summary,
      parameters: Object.keys(webhookParameters).map((name) => ({
        $ref: `#/components/parameters/${name}`,
      })),
      requestBody: { required: true, content: { "application/json": { schema, example } } },
      responses: {
        "2XX": {
          description:
            "The delivery succeeded. After any other status except 410, or without a response " +
            `within ${deliveryTimeoutMs / 1_000} seconds, the service retries.`,
        },
        "410": { description: "The service disables the endpoint and stops sending to it." },
      },
    },
  };
}

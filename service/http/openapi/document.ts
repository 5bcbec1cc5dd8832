// Writes the OpenAPI document of the API from its operations, the shapes of their responses, and
// the schemas that parse their requests. `npm run openapi -w service` writes spec/openapi.json.

import { testEvent } from "executable-address/shapes";
import { type EventType, eventTypes } from "executable-address/webhook";
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
import { describeComponents, describeInput, describeShape, type Schema } from "./schemas.ts";

const info = {
  title: "Executable Address Service",
  version: "1",
  contact: { name: "The operator of the service that serves this document" },
  license: { name: "MIT", identifier: "MIT" },
  description:
    "Turns an intent into an address with a fixed purpose for the money sent to it. HEAD is " +
    "answered wherever GET is, and OPTIONS everywhere (`Preflight`). Another method is " +
    "`MethodNotAllowed`, another path `UnknownPath`; those answers are under `x-responses`. " +
    "Requests that are refused before they are parsed have no X-Request-Id (`NotHttp`, " +
    "`HeadersOverflow`, `RequestTimeout`, `ExpectationFailed`). Changes under /v1 only " +
    "add: ignore fields, codes and headers that you do not know.",
};

const tags = [
  { name: "addresses", description: "One address: its purpose and its money" },
  { name: "account", description: "What an account created, by its API key" },
  {
    name: "webhooks",
    description: "The account's webhook endpoints, by an API key with the scope `webhooks`",
  },
  { name: "service", description: "The service itself" },
];

const securitySchemes = {
  apiKey: {
    type: "http",
    scheme: "bearer",
    bearerFormat: "svc_sk_ and 64 hex characters, of which the last 8 are CRC-32 of the others",
    description: "Secret, and only for servers. Refused together with an `Origin`.",
  },
  clientId: {
    type: "apiKey",
    in: "header",
    name: "X-Client-Id",
    description:
      "`svc_client_` and 32 hex characters, of which the last 8 are CRC-32 of the " +
      "others. It works only from the account's origins. Never sent together with an API key.",
  },
};

export function describeApi(): Schema {
  const schemas = describeComponents();
  return {
    openapi: "3.1.0",
    info,
    tags,
    servers: [{ url: "/v1", description: "{base_url}, on any host that serves it" }],
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

/** An intent as it is posted, possibly without a salt. Misspelled fields are refused everywhere. */
function describeIntents({ Intent, Call }: Record<string, Schema>): Record<string, Schema> {
  const { salt, expirationTimestamp, ...fields } = Intent!.properties as Record<string, Schema>;
  const required = (Intent!.required as string[]).filter((name) => name !== "salt");
  return {
    Call: { ...Call, additionalProperties: false },
    Intent: { ...Intent, additionalProperties: false },
    NewIntent: {
      type: "object",
      description:
        "An intent as it is posted: hex in any letter case (an address in one letter " +
        "case, or with " +
        "the right EIP-55 checksum), everything else in its canonical form. The whole " +
        "encoding has at most 24,576 bytes.",
      properties: {
        ...fields,
        expirationTimestamp: {
          ...expirationTimestamp,
          description:
            "Unix seconds by the chain's clock, inclusive. By default 5 minutes to 366 " +
            "days in the future; servers can be configured otherwise.",
        },
        salt: {
          ...{ type: "string", pattern: "^0x[0-9a-fA-F]{64}$" },
          description: `${salt!.description} Random if absent.`,
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
        ...(body === "intent" && { description: "The intent itself, not wrapped." }),
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
  "If-None-Match": "An ETag that the client has.",
  "Last-Event-ID": "The `id` of the last event received; browsers send it automatically.",
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
    description: "In any letter case.",
    schema: { type: "string", pattern: "^0x[0-9a-fA-F]{40}$" },
  },
  id: { description: "The ID of the event or endpoint.", schema: { type: "string" } },
};

const webhookParameters = {
  WebhookId: {
    ...{ name: "webhook-id", in: "header", required: true },
    description: "The event's ID, the same for each attempt and replay.",
    schema: { type: "string" },
  },
  WebhookTimestamp: {
    ...{ name: "webhook-timestamp", in: "header", required: true },
    description: "Unix seconds. Refuse a delivery that is more than 5 minutes off.",
    schema: { type: "string", pattern: "^[0-9]+$" },
  },
  WebhookSignature: {
    ...{ name: "webhook-signature", in: "header", required: true },
    description:
      "As in Standard Webhooks 1.0, separated by spaces: a `v1` HMAC-SHA256 for each " +
      "valid secret, and a `v1a` ed25519 signature by the service's key.",
    schema: { type: "string" },
  },
};

const summaries: Record<EventType, string> = {
  "address.payment": "Money arrived",
  "address.funded": "The amount is complete",
  "address.executed": "The calls were executed",
  "address.expired": "It expired without an execution, with money",
  "address.recovered": "Money was sent to the recovery address",
  "address.surplus": "Executed, and more arrived than the calls used",
  "address.reverted": "A reorganization took back what an event reported",
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
    "A test, if somebody requests one",
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
          description: "Accepted. Anything else, or no response within 5 seconds, is retried.",
        },
        "410": { description: "Disables the endpoint." },
      },
    },
  };
}

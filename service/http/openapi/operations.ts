// Lists all operations below /v1. The API registers exactly these routes, and spec/openapi.json is
// generated from this list. The library (address/client) defines the fields of responses. The route
// that parses a request defines the request's fields.

import {
  addressPage,
  addressProof,
  addressRecord,
  chainList,
  check,
  deliveryPage,
  endpoint,
  endpointPage,
  eventPage,
  listedAddress,
  newEndpoint,
  newSecret,
  paymentReturns,
  removedEndpoint,
  replayed,
  type Shape,
  sentMoney,
  sentTest,
  serviceEvent,
  serviceStatus,
  simulation,
} from "executable-address/shapes";
import type { z } from "zod";
import { describePolicy, policies } from "../../accounts/policies.ts";
import { eventRetentionMs } from "../../events/list.ts";
import { settleMs } from "../../events/list-addresses.ts";
import { dayMs, hourMs } from "../../flow/days.ts";
import { replayInput, replaysMax } from "../../webhooks/deliveries/enqueue.ts";
import { deliveriesShown } from "../../webhooks/deliveries/list.ts";
import { overlapMs } from "../../webhooks/sign.ts";
import { createInput } from "../create/reference.ts";
import { defaultEventLimits } from "../limits.ts";
import { listInput } from "../lists/addresses.ts";
import { eventsInput } from "../lists/events.ts";
import { proofInput } from "../proof/proof.ts";
import { sentInput } from "../status/sent.ts";
import { endpointInput } from "../webhooks/webhooks.ts";
import type { Headers, RefusalName } from "./responses.ts";

type Method = "GET" | "POST" | "DELETE";

export type Operation = {
  readonly method: Method;
  readonly path: `/${string}`;
  readonly tag: "addresses" | "account" | "webhooks" | "service";
  readonly summary: string;
  readonly description?: string;
  /**
   * The kinds of credentials that the operation accepts. A request must have one of these
   * credentials. If the list is empty, the operation is public.
   */
  readonly credentials: readonly ("apiKey" | "clientId")[];
  /**
   * The query fields. If absent, a public operation ignores a request's query, and any other
   * operation refuses the query.
   */
  readonly query?: z.ZodObject;
  /** The request headers that the operation reads, except the headers with credentials. */
  readonly reads?: readonly ("If-None-Match" | "Last-Event-ID")[];
  /**
   * The schema of the request body. `intent` means that the body is an intent, which the library
   * parses. Without a schema, the body must have no fields.
   */
  readonly body?: "intent" | z.ZodType;
  /** The response body. `stream`: server-sent events. `document`: the OpenAPI document. */
  readonly answer: Shape | "stream" | "document";
  /** Describes the response. */
  readonly answers: string;
  /**
   * Headers of the response. `document.ts` adds the headers of every response, and the rate limit
   * headers.
   */
  readonly headers?: Headers;
  /** Describes the 304 response. Absent if the operation never returns 304. */
  readonly unchanged?: string;
  readonly refusals: readonly RefusalName[];
};

const eventDays = eventRetentionMs / dayMs;

const noStore: Headers = { "Cache-Control": "NoStore" };
const minuteOld: Headers = { "Cache-Control": "MinuteOld" };

const always = ["HeadersTooLarge", "InternalError"] as const;
const byAnyCredential = ["InvalidRequest", "Unauthorized", "Forbidden", "RateLimited"] as const;
const byKey = ["InvalidRequest", "Unauthorized", "KeyOnly", "RateLimited", "Unavailable"] as const;
const ofAddress = ["InvalidAddress", "NotFound", ...always] as const;

const ofOneAddress = {
  method: "GET",
  tag: "addresses",
  credentials: [],
  headers: noStore,
  refusals: [...ofAddress, "ChainUnavailable"],
} as const;

const ofAccount = {
  method: "GET",
  tag: "account",
  credentials: ["apiKey"],
  headers: noStore,
  refusals: [...byKey, ...always],
} as const;

const ofWebhooks = { ...ofAccount, tag: "webhooks" } as const;
const ofEndpoint = {
  ...ofWebhooks,
  method: "POST",
  answer: endpoint,
  answers: "The endpoint.",
  refusals: [...ofAccount.refusals, "NoneOfYours"],
} as const;
const ofJsonBody = ["BodyTooLarge", "UnsupportedMediaType"] as const;

export const operations = {
  createAddress: {
    method: "POST",
    path: "/address/create",
    tag: "addresses",
    summary: "Create an address",
    description:
      "Stores the intent and returns its address. The request is idempotent: the same intent " +
      "with the same salt returns the same response to every account. The service responds after " +
      "it has stored the record durably. It checks the credential first, then the origin, " +
      "the rate limit, the media type, the size, and the body. An `Idempotency-Key` header or an " +
      "unknown query field returns 400.",
    credentials: ["apiKey", "clientId"],
    query: createInput,
    body: "intent",
    answer: addressRecord,
    answers: "The record of the address.",
    refusals: [...byAnyCredential, "ReferenceInUse", ...ofJsonBody, ...always, "Unavailable"],
  },
  checkAddress: {
    method: "POST",
    path: "/address/check",
    tag: "addresses",
    summary: "Check an intent before you create its address",
    description:
      "Takes the same credential and body as a create request, but stores nothing. Returns the " +
      "record that a create request would return, a simulation that assumes the full amount, " +
      "and likely mistakes in the intent. " +
      `An account can make ${describePolicy(policies.checks, "checks")}.`,
    credentials: ["apiKey", "clientId"],
    body: "intent",
    answer: check,
    answers: "The record, a simulation, and the likely mistakes (`findings`).",
    headers: noStore,
    refusals: [...byAnyCredential, ...ofJsonBody, ...always, "CheckUnavailable"],
  },
  lookUpAddress: {
    method: "GET",
    path: "/address/{address}",
    tag: "addresses",
    summary: "Look up an address",
    description:
      "Returns the record of the address. A record never changes, so you can cache it forever.",
    credentials: [],
    reads: ["If-None-Match"],
    answer: addressRecord,
    answers: "The record, with the same bytes as the response to the create request.",
    headers: { "Cache-Control": "Immutable", ETag: "ETag" },
    unchanged: "The response that you already have is current.",
    refusals: [...ofAddress, "Unavailable"],
  },
  getStatus: {
    ...ofOneAddress,
    path: "/address/{address}/status",
    summary: "Get the status of an address",
    description:
      "Returns the state of the address at `block`. Most fields depend only on the record and " +
      "the chain at that block, so anyone with an RPC endpoint can recompute them.",
    answer: serviceStatus,
    answers: "The status at the newest block that the service has read.",
  },
  getReturns: {
    ...ofOneAddress,
    path: "/address/{address}/returns",
    summary: "List possible payment mistakes and their returns",
    description:
      "Lists the mistakes that a payer can make. Each row states how much money is returned, " +
      "to which address, on which chain, and when, and who can trigger the return. All " +
      "fields except `executor` can be derived from the record.",
    answer: paymentReturns,
    answers: "One row for each mistake that a payer can make.",
    headers: minuteOld,
    refusals: [...ofAddress, "Unavailable"],
  },
  getProof: {
    ...ofOneAddress,
    path: "/address/{address}/proof",
    summary: "Prove the outcome of an address",
    description:
      "Returns the block header and an account proof. If the address was executed, the response " +
      "also contains the transaction and its receipt (spec/proof.md). If you trust the block " +
      "hash, you do not need to trust the service.",
    query: proofInput,
    reads: ["If-None-Match"],
    answer: addressProof,
    answers: "The proof at the requested block.",
    headers: { "Cache-Control": "Briefly", ETag: "ETag" },
    unchanged: "The proof that you already have is current.",
    refusals: [...ofOneAddress.refusals, "ClientLimited"],
  },
  getSimulation: {
    ...ofOneAddress,
    path: "/address/{address}/simulation",
    summary: "Simulate the execution of an address",
    description:
      "Returns the balance changes that an execution would cause now, as one node computes them " +
      "on top of its newest block. If the amount has not arrived, the simulation assumes that it " +
      "has (`fundingAssumed`). A simulation is an estimate and not evidence, because a contract " +
      "can behave differently in a simulation.",
    answer: simulation,
    answers:
      "The simulation. The status is also 200 if the calls fail or the node could not run them.",
    refusals: [...ofOneAddress.refusals, "ClientLimited"],
  },
  reportSent: {
    ...ofOneAddress,
    method: "POST",
    path: "/address/{address}/sent",
    summary: "Report an unlisted token that was sent to an address",
    description:
      "Finds tokens that the service does not find automatically, because they are neither " +
      "listed nor look-alikes, and queues their return to the intent's `recovery`. The body " +
      "contains either a token's contract or a transaction. The request is idempotent. A " +
      "transfer counts only if each RPC endpoint that the service asks reports it. Anyone can " +
      "report tokens, so the number of reported tokens is limited per address, and per account " +
      "and day. A " +
      `client network can make ${describePolicy(policies.reports, "reports")}.`,
    body: sentInput,
    answer: sentMoney,
    answers: "The tokens that were found, and what happens to each.",
    refusals: [...ofAddress, "ClientLimited", ...ofJsonBody, "ChainUnavailable"],
  },
  streamStatus: {
    ...ofOneAddress,
    path: "/address/{address}/events",
    summary: "Stream the status of an address",
    description: "Sends the current status and each change as server-sent events.",
    reads: ["Last-Event-ID"],
    answer: "stream",
    answers:
      "A stream of server-sent events. The data of a `status` event is a Status. The " +
      "first event contains the current status, and each later event reports a change. To " +
      "resume the stream, send the `id` of the last event as `Last-Event-ID`. The data of an " +
      "`unavailable` event is an Error, which means that the chain cannot be read at present. " +
      "A `ping` event, sent every " +
      `${defaultEventLimits.pingMs / 1_000} seconds, ` +
      "means that the status did not change up to the block that the event names: " +
      '`{"block":{"number":58,"timestamp":1795255786}}`, or `{"block":null}` while the chain ' +
      "cannot be read.",
    headers: { ...noStore, "X-Accel-Buffering": "NoBuffering" },
    refusals: [...ofAddress, "NoRoom"],
  },
  findOwnAddress: {
    ...ofAccount,
    path: "/address/{address}/mine",
    summary: "Get one address of the account",
    description:
      "Returns the item that `GET /addresses` contains for this address. Requires an API key.",
    answer: listedAddress,
    answers: "The address, as `GET /addresses` lists it.",
    refusals: [...ofAccount.refusals, "NoneOfYours"],
  },
  listAddresses: {
    ...ofAccount,
    path: "/addresses",
    summary: "List the account's addresses",
    description:
      "Requires an API key. A page with fewer items than `limit` is the last page. With " +
      `\`order=oldest\`, the list omits addresses that are younger than ${settleMs / 1_000} ` +
      "seconds, so that you can continue from `next` later without gaps or repetitions.",
    query: listInput,
    answer: addressPage,
    answers: "A page of the account's addresses.",
  },
  listEvents: {
    ...ofAccount,
    path: "/events",
    summary: "List the account's events",
    description:
      "Requires an API key. Returns the events of the last " +
      `${eventDays} days, oldest first. Webhooks ` +
      "deliver each event with the same bytes as in this list.",
    query: eventsInput,
    answer: eventPage,
    answers: "A page of the account's events.",
  },
  findEvent: {
    ...ofAccount,
    path: "/events/{id}",
    summary: "Get an event of the account",
    description: `Requires an API key. Events are available for ${eventDays} days.`,
    answer: serviceEvent,
    answers: "The event.",
    refusals: [...ofAccount.refusals, "NoneOfYours"],
  },
  listEndpoints: {
    ...ofWebhooks,
    path: "/webhooks",
    summary: "List the account's webhook endpoints",
    answer: endpointPage,
    answers: "The endpoints of the account, and the settings that apply to all of them.",
  },
  createEndpoint: {
    ...ofWebhooks,
    method: "POST",
    path: "/webhooks",
    summary: "Create a webhook endpoint",
    description:
      "If the account already has an endpoint with this URL, returns 400 `url_in_use` with its " +
      "ID, so a repeated request does not create a second endpoint.",
    body: endpointInput,
    answer: newEndpoint,
    answers: "The endpoint and its secret.",
    refusals: [...ofWebhooks.refusals, ...ofJsonBody],
  },
  findEndpoint: {
    ...ofEndpoint,
    method: "GET",
    path: "/webhooks/{id}",
    summary: "Get a webhook endpoint",
  },
  removeEndpoint: {
    ...ofEndpoint,
    method: "DELETE",
    path: "/webhooks/{id}",
    summary: "Remove a webhook endpoint",
    description: "Removes the endpoint. The service sends no more events to it.",
    answer: removedEndpoint,
    answers: "The endpoint was removed.",
  },
  rotateSecret: {
    ...ofEndpoint,
    path: "/webhooks/{id}/rotate",
    summary: "Rotate the secret of a webhook endpoint",
    description:
      `Creates a new secret. For ${overlapMs / hourMs} hours, deliveries are signed with both ` +
      "the old and the new secret.",
    answer: newSecret,
    answers: "The new secret. It is returned only once.",
  },
  pauseEndpoint: {
    ...ofEndpoint,
    path: "/webhooks/{id}/pause",
    summary: "Pause a webhook endpoint",
  },
  resumeEndpoint: {
    ...ofEndpoint,
    path: "/webhooks/{id}/resume",
    summary: "Resume a webhook endpoint",
    description:
      "Resumes an endpoint that was paused or disabled, and sends the deliveries that are " +
      "waiting.",
  },
  testEndpoint: {
    ...ofEndpoint,
    path: "/webhooks/{id}/test",
    summary: "Send a test event to a webhook endpoint",
    description:
      "Sends a `webhook.test` event. An account can send one every " +
      `${policies.webhookTests.intervalMs / 1_000} seconds.`,
    answer: sentTest,
    answers: "The ID of the delivery.",
    refusals: [...ofEndpoint.refusals, "NotActive"],
  },
  replayEvents: {
    ...ofEndpoint,
    path: "/webhooks/{id}/replay",
    summary: "Send events to a webhook endpoint again",
    description:
      `Sends one event again, or up to ${replaysMax.toLocaleString("en-US")} events from a time ` +
      "range, oldest first.",
    body: replayInput,
    answer: replayed,
    answers: "The number of events that will be sent again.",
    refusals: [...ofEndpoint.refusals, ...ofJsonBody],
  },
  listDeliveries: {
    ...ofEndpoint,
    method: "GET",
    path: "/webhooks/{id}/deliveries",
    summary: `List the newest ${deliveriesShown} deliveries to a webhook endpoint`,
    answer: deliveryPage,
    answers: "The deliveries, newest first, with their attempts.",
  },
  listChains: {
    method: "GET",
    path: "/chains",
    tag: "service",
    summary: "List chains and tokens",
    description: "Returns the chains and tokens that an intent can use.",
    credentials: [],
    answer: chainList,
    answers: "The chains and their tokens.",
    headers: minuteOld,
    refusals: always,
  },
  describe: {
    method: "GET",
    path: "/openapi.json",
    tag: "service",
    summary: "Get the OpenAPI document",
    description: "Returns this document.",
    credentials: [],
    answer: "document",
    answers: "The OpenAPI document.",
    headers: minuteOld,
    refusals: always,
  },
} as const satisfies Record<string, Operation>;

export type OperationId = keyof typeof operations;

/** Converts a path for the router: `/events/{id}` becomes `/events/:id`. */
export const toUrl = (path: string): string => path.replace(/\{(\w+)\}/g, ":$1");

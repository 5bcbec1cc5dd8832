// Every operation below /v1. The API registers exactly these routes, and spec/openapi.json is
// generated from them. The contents of a response are described in the library, next to its type;
// the contents of a request, next to the route that parses it.

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
  sentTest,
  serviceEvent,
  serviceStatus,
  simulation,
} from "executable-address/shapes";
import type { z } from "zod";
import { createInput } from "../create/create.ts";
import { endpointInput, replayInput } from "../input.ts";
import { listInput } from "../lists/addresses.ts";
import { eventsInput } from "../lists/events.ts";
import { proofInput } from "../proof/proof.ts";
import type { Headers, RefusalName } from "./responses.ts";

type Method = "GET" | "POST" | "DELETE";

export type Operation = {
  readonly method: Method;
  readonly path: `/${string}`;
  readonly tag: "addresses" | "account" | "webhooks" | "service";
  readonly summary: string;
  readonly description?: string;
  /**
   * The credentials that it accepts. A request needs one. If there are none, the operation is
   * public.
   */
  readonly credentials: readonly ("apiKey" | "clientId")[];
  /** Absent: a public operation ignores its query, and any other refuses every field. */
  readonly query?: z.ZodObject;
  /** Headers that it reads, in addition to the headers of credentials. */
  readonly reads?: readonly ("If-None-Match" | "Last-Event-ID")[];
  /** `intent`: the library parses it. Absent: it refuses every field. */
  readonly body?: "intent" | z.ZodType;
  /** `stream`: server-sent events. `document`: this document. */
  readonly answer: Shape | "stream" | "document";
  /** Describes the answer. */
  readonly answers: string;
  /** Headers of the response, in addition to the headers of every response and of credentials. */
  readonly headers?: Headers;
  /** Describes 304, if it is answered. */
  readonly unchanged?: string;
  readonly refusals: readonly RefusalName[];
};

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
      "Idempotent: the same intent, salt included, returns the same address and the same bytes, " +
      "also to another account. It is answered once the record is durable. Checks run in this " +
      "order: credential, origin, rate, media type, size, body. `Idempotency-Key` and unknown " +
      "query fields are 400.",
    credentials: ["apiKey", "clientId"],
    query: createInput,
    body: "intent",
    answer: addressRecord,
    answers: "The record.",
    refusals: [...byAnyCredential, "ReferenceInUse", ...ofJsonBody, ...always, "Unavailable"],
  },
  checkAddress: {
    method: "POST",
    path: "/address/check",
    tag: "addresses",
    summary: "Check before you create",
    description:
      "Returns what create would answer for this intent, a simulation with the amount " +
      "assumed, and " +
      "every doubt about it; nothing is saved. Credential and body are those of create. " +
      "An account has a burst of 30 checks, then one every 2 s.",
    credentials: ["apiKey", "clientId"],
    body: "intent",
    answer: check,
    answers: "The record, tried and examined.",
    headers: noStore,
    refusals: [...byAnyCredential, ...ofJsonBody, ...always, "CheckUnavailable"],
  },
  lookUpAddress: {
    method: "GET",
    path: "/address/{address}",
    tag: "addresses",
    summary: "Look up an address",
    description: "Cache and mirror it forever.",
    credentials: [],
    reads: ["If-None-Match"],
    answer: addressRecord,
    answers: "The record, in the same bytes that create answered.",
    headers: { "Cache-Control": "Immutable", ETag: "ETag" },
    unchanged: "The record that the client has under this ETag is current.",
    refusals: [...ofAddress, "Unavailable"],
  },
  getStatus: {
    ...ofOneAddress,
    path: "/address/{address}/status",
    summary: "Get the status",
    description:
      "A pure function of the chain at the block that it names: anybody with an RPC endpoint can " +
      "compute it too.",
    answer: serviceStatus,
    answers: "The status at the newest block that this service has seen.",
  },
  getReturns: {
    ...ofOneAddress,
    path: "/address/{address}/returns",
    summary: "Get where misdirected money goes",
    description:
      "For each mistake of a payer: how much comes back, to which address, on which chain, when, " +
      "and who can trigger it. It follows from the record, except for `executor`.",
    answer: paymentReturns,
    answers: "One row for each mistake.",
    headers: minuteOld,
    refusals: [...ofAddress, "Unavailable"],
  },
  getProof: {
    ...ofOneAddress,
    path: "/address/{address}/proof",
    summary: "Prove the outcome",
    description:
      "Header, account and, if the address was executed, receipt and transaction: spec/proof.md. " +
      "If you trust the block's hash, you need to trust nobody else.",
    query: proofInput,
    reads: ["If-None-Match"],
    answer: addressProof,
    answers: "The proof at that block.",
    headers: { "Cache-Control": "Briefly", ETag: "ETag" },
    unchanged: "The proof that the client has under this ETag is of this block.",
  },
  getSimulation: {
    ...ofOneAddress,
    path: "/address/{address}/simulation",
    summary: "Simulate the execution",
    description:
      "Computed by this service's node on top of its newest block: information for people, never " +
      "evidence. A contract can tell a simulation from a transaction.",
    answer: simulation,
    answers: "The simulation, also if it fails or the node could not run it.",
  },
  streamStatus: {
    ...ofOneAddress,
    path: "/address/{address}/events",
    summary: "Stream the status and its changes",
    description:
      "Server-sent events: `status` whenever it changes, and a comment from time to time to keep " +
      "the connection open.",
    reads: ["Last-Event-ID"],
    answer: "stream",
    answers:
      "Server-sent events. Each `status` event has a Status as its data: first the present one, " +
      "then one for each change; its `id` resumes the stream. An `unavailable` event has " +
      "an Error while the chain cannot be read. Lines that begin with a colon only keep the " +
      "connection open.",
    headers: { ...noStore, "X-Accel-Buffering": "NoBuffering" },
    refusals: [...ofAddress, "NoRoom"],
  },
  findOwnAddress: {
    ...ofAccount,
    path: "/address/{address}/mine",
    summary: "Get the account's row of an address",
    description: "The row that `GET /addresses` has for it. It needs an API key.",
    answer: listedAddress,
    answers: "The row.",
    refusals: [...ofAccount.refusals, "NoneOfYours"],
  },
  listAddresses: {
    ...ofAccount,
    path: "/addresses",
    summary: "List the account's addresses",
    description:
      "It needs an API key. A page that is not full is the last. With `order=oldest`, addresses " +
      "younger than 15 seconds are not shown yet, and `next` never skips or repeats a row.",
    query: listInput,
    answer: addressPage,
    answers: "A page.",
  },
  listEvents: {
    ...ofAccount,
    path: "/events",
    summary: "List the account's events",
    description:
      "It needs an API key. Oldest first, of the last 30 days. A webhook delivers the " +
      "item itself, byte for byte.",
    query: eventsInput,
    answer: eventPage,
    answers: "A page.",
  },
  findEvent: {
    ...ofAccount,
    path: "/events/{id}",
    summary: "Get an event of the account",
    description: "It needs an API key. Events are kept for 30 days.",
    answer: serviceEvent,
    answers: "The event.",
    refusals: [...ofAccount.refusals, "NoneOfYours"],
  },
  listEndpoints: {
    ...ofWebhooks,
    path: "/webhooks",
    summary: "List the account's endpoints",
    answer: endpointPage,
    answers: "At most `max` endpoints.",
  },
  createEndpoint: {
    ...ofWebhooks,
    method: "POST",
    path: "/webhooks",
    summary: "Create an endpoint",
    description:
      "If an endpoint of the account already has the URL, the answer is 400 `url_in_use` " +
      "and names it, so that a repeat creates no second one.",
    body: endpointInput,
    answer: newEndpoint,
    answers: "The endpoint and its secret.",
    refusals: [...ofWebhooks.refusals, ...ofJsonBody],
  },
  findEndpoint: {
    ...ofEndpoint,
    method: "GET",
    path: "/webhooks/{id}",
    summary: "Get an endpoint",
  },
  removeEndpoint: {
    ...ofEndpoint,
    method: "DELETE",
    path: "/webhooks/{id}",
    summary: "Remove an endpoint",
    description: "Nothing is sent to it anymore.",
    answer: removedEndpoint,
    answers: "The endpoint was removed.",
  },
  rotateSecret: {
    ...ofEndpoint,
    path: "/webhooks/{id}/rotate",
    summary: "Rotate the secret",
    description: "The old secret also signs for another 24 hours.",
    answer: newSecret,
    answers: "The secret, shown here and never again.",
  },
  pauseEndpoint: {
    ...ofEndpoint,
    path: "/webhooks/{id}/pause",
    summary: "Pause an endpoint",
  },
  resumeEndpoint: {
    ...ofEndpoint,
    path: "/webhooks/{id}/resume",
    summary: "Resume an endpoint",
    description: "Also after it was disabled. Waiting deliveries are sent.",
  },
  testEndpoint: {
    ...ofEndpoint,
    path: "/webhooks/{id}/test",
    summary: "Send a test",
    description: "An account can send one every 5 seconds.",
    answer: sentTest,
    answers: "The delivery.",
    refusals: [...ofEndpoint.refusals, "NotActive"],
  },
  replayEvents: {
    ...ofEndpoint,
    path: "/webhooks/{id}/replay",
    summary: "Send events again",
    description: "One event, or the oldest 1,000 of a span.",
    body: replayInput,
    answer: replayed,
    answers: "How many events are sent again.",
    refusals: [...ofEndpoint.refusals, ...ofJsonBody],
  },
  listDeliveries: {
    ...ofEndpoint,
    method: "GET",
    path: "/webhooks/{id}/deliveries",
    summary: "List the newest 50 deliveries",
    answer: deliveryPage,
    answers: "Each with its attempts.",
  },
  listChains: {
    method: "GET",
    path: "/chains",
    tag: "service",
    summary: "List chains and tokens",
    description: "An intent names one of these chains, and one of its tokens.",
    credentials: [],
    answer: chainList,
    answers: "The chain list.",
    headers: minuteOld,
    refusals: always,
  },
  describe: {
    method: "GET",
    path: "/openapi.json",
    tag: "service",
    summary: "Get this description",
    description: "This document, as the service serves it.",
    credentials: [],
    answer: "document",
    answers: "This document.",
    headers: minuteOld,
    refusals: always,
  },
} as const satisfies Record<string, Operation>;

export type OperationId = keyof typeof operations;

/** The router's spelling of a path: `/events/:id` for `/events/{id}`. */
export const toUrl = (path: string): string => path.replace(/\{(\w+)\}/g, ":$1");

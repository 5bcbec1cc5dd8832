// The HTTP server below the framework: its time limits, its bound on connections, and the refusal
// of creates that are too many before the framework sees them. An overloaded server mostly
// refuses, and a refusal goes here without the framework's routing, hooks and reply.

import { createServer, type IncomingMessage, type RequestListener, type Server } from "node:http";
import { corsHeaders } from "../headers.ts";
import type { Parts } from "../parts.ts";
import { refuseConnect, refuseExpectation, refuseHost } from "../refuse.ts";
import type { Admission } from "./admission.ts";
import { tooMany } from "./budget.ts";
import { serveBounded } from "./sockets.ts";

type ServerParts = Pick<Parts, "limits" | "metrics" | "draining"> & {
  creates: Admission;
  newRequestId: () => string;
};

/**
 * How long idle connections stay open: longer than proxies keep them, so that proxies close first.
 */
const idleMsMax = 72_000;
const requestMsMax = 30_000;
/** Node looks for late requests every 30 s unless it is told otherwise. */
const timeoutsCheckedMs = 1_000;

/** @param listener the framework's; it refuses creates whose path is spelled another way */
export function openServer(listener: RequestListener, parts: ServerParts): Server {
  const options = {
    keepAliveTimeout: idleMsMax,
    requestTimeout: requestMsMax,
    headersTimeout: parts.limits.headersMsMax,
    connectionsCheckingInterval: timeoutsCheckedMs,
    requireHostHeader: false,
  };
  const refuse = refuseCreate(parts);
  const server = createServer(options);
  serveBounded(server, parts.limits.connectionsMax, (request, response) => {
    if (!hasOneHost(request)) refuseHost(request, response);
    else if (isCreate(request) && parts.creates.isFull()) refuse(request, response);
    else listener(request, response);
  });
  server.on("checkExpectation", refuseExpectation);
  server.on("connect", refuseConnect);
  return server;
}

/** A name or an address, and perhaps a port. RFC 9110 §7.2; HTTP/1.0 needs none. */
const host = /^(\[[0-9a-fA-F:.]+\]|[\w.~!$&'()*+,;=%-]*)(:\d{0,5})?$/;

/** Two `Host` headers are refused, since a proxy before us may believe the other one. */
function hasOneHost({ rawHeaders, headers }: IncomingMessage): boolean {
  let found = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]!;
    if (name.length === 4 && name.toLowerCase() === "host") found += 1;
  }
  return found === 0 || (found === 1 && host.test(headers.host ?? ""));
}

const createPath = "/v1/address/create";

const isCreate = ({ method, url }: IncomingMessage) =>
  method === "POST" && (url === createPath || url?.startsWith(`${createPath}?`) === true);

/** ASCII, as the text and the headers are: so Node writes both as one piece. */
const encoding = "latin1";

/** Adds what the framework's hooks add: headers, counts, and the close of a drain. */
function refuseCreate({ creates, newRequestId, metrics, draining }: ServerParts): RequestListener {
  const count = metrics.countResponses(createPath);
  const headers = Object.entries({
    ...tooMany.headers,
    ...corsHeaders,
    "x-content-type-options": "nosniff",
    "content-length": String(Buffer.byteLength(tooMany.body)),
  }).flat();
  return (_request, response) => {
    const own = ["x-request-id", newRequestId()];
    if (draining.aborted) own.push("connection", "close");
    response.writeHead(tooMany.status, [...own, ...headers]).end(tooMany.body, encoding);
    creates.refused();
    count(tooMany.status, 0);
  };
}

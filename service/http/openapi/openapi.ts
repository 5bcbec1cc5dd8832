// GET /openapi.json: spec/openapi.json, for tools. openapi.test.ts holds the API to it.

import { readFileSync } from "node:fs";
import { jsonType } from "../headers.ts";
import type { Route } from "../routes.ts";

export function openapi(): Route {
  const body = readFileSync(new URL("../../../spec/openapi.json", import.meta.url));
  return {
    handler(_request, reply) {
      reply.header("cache-control", "public, max-age=60");
      reply.header("content-type", jsonType);
      return body;
    },
  };
}

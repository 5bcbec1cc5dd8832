// GET /openapi.json: spec/openapi.json, for tools. openapi.test.ts holds the API to it.

import { readFileSync } from "node:fs";
import type { Route } from "../routes.ts";

export function openapi(): Route {
  const body = readFileSync(new URL("../../../spec/openapi.json", import.meta.url));
  return {
    handler(_request, reply) {
      reply.header("Cache-Control", "public, max-age=60");
      reply.header("Content-Type", "application/json; charset=utf-8");
      return reply.send(body);
    },
  };
}

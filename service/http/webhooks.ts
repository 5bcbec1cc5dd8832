// What the routes of webhooks accept. The API, its OpenAPI document, and the dashboard share it.

import { eventTypes } from "executable-address/webhook";
import { z } from "zod";

export const endpointInput = z.strictObject({
  url: z.string().max(500).describe("An `https` URL whose every address is public."),
  types: z
    .array(z.string().max(100).meta({ enum: eventTypes }))
    .max(20)
    .default([])
    .describe("The event types to send; empty or absent means all."),
});
export const replayInput = z.union([
  z.strictObject({ eventId: z.string().max(100).describe("One event.") }),
  z
    .strictObject({
      from: z.iso.datetime({ offset: true }).describe("Inclusive."),
      until: z.iso.datetime({ offset: true }).describe("Exclusive."),
    })
    .refine(({ from, until }) => Date.parse(from) < Date.parse(until), {
      path: ["until"],
      message: "expected a time after `from`",
    }),
]);

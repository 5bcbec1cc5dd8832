// An event stream is made of frames, one for each state of an address. A client that comes back
// names its last frame and gets those behind it.

import { hash } from "node:crypto";
import type { BlockReference, ServiceStatus } from "executable-address/status";
import { toAnswer } from "../errors.ts";

/** `id` is the block's number and a digest of all but the block; another digest is a change. */
export type Frame = { id: string; bytes: Buffer };

const framesMax = 16;

/** Adds the frame of `status` where it tells a change. Oldest first; the last is the present. */
export function append(frames: Frame[], status: ServiceStatus): void {
  const frame = frameOf(status);
  if (!isChange(frames, frame)) return;
  frames.push(frame);
  if (frames.length > framesMax) frames.shift();
}

export function isChange(frames: readonly Frame[], frame: Frame): boolean {
  return digestOf(frame.id) !== digestOf(frames.at(-1)?.id);
}

/** The frames behind `lastId`, or the present one if `lastId` is not known any more. */
export function framesAfter(frames: readonly Frame[], lastId: string | undefined): Frame[] {
  const place = frames.findIndex((frame) => frame.id === lastId);
  if (place >= 0) return frames.slice(place + 1);
  const present = frames.at(-1);
  return present && digestOf(present.id) !== digestOf(lastId) ? [present] : [];
}

export function frameOf(status: ServiceStatus): Frame {
  const { block, ...rest } = status;
  const digest = hash("sha256", JSON.stringify(rest), "base64url").slice(0, 16);
  const id = `${block.number}.${digest}`;
  const bytes = Buffer.from(`id: ${id}\nevent: status\ndata: ${JSON.stringify(status)}\n\n`);
  return { id, bytes };
}

const digestOf = (id: string | undefined) => id?.split(".")[1];

/** It has no id, so that a client that comes back resumes from the last state it was told. */
export function pingOf(head: BlockReference | undefined): Buffer {
  const block = head ? { number: head.number, timestamp: head.timestamp } : null;
  return Buffer.from(`event: ping\ndata: ${JSON.stringify({ block })}\n\n`);
}

/** It has no id, so that a client that comes back resumes from the last state it was told. */
export const failureOf = (error: unknown): Buffer =>
  Buffer.from(`event: unavailable\ndata: ${toAnswer(error).body}\n\n`);

import { BaseError } from "viem";

/** The chain cannot be read now; nothing is said of the address. The message is for operators. */
export class StatusUnavailable extends Error {
  override name = "StatusUnavailable";
}

/** viem's full messages carry the node's URL, which may carry its operator's key. */
export function refuse(error: unknown): never {
  if (error instanceof StatusUnavailable) throw error;
  const message = error instanceof BaseError ? error.shortMessage : String(error);
  throw new StatusUnavailable(message, { cause: error });
}

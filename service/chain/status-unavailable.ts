/** The chain cannot be read now; nothing is said of the address. The message is for operators. */
export class StatusUnavailable extends Error {
  override name = "StatusUnavailable";
}

/** The chain cannot be read now; it says nothing about the address. The message is for operators. */
export class StatusUnavailable extends Error {
  override name = "StatusUnavailable";
}

// The delay between two attempts of a page's request. The library's `sleep` can also be aborted,
// but it would make the payment page larger than its limit.

/** Resolves after `ms` milliseconds. */
export const sleep = (ms: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, ms));

/**
 * The most gas that the executor gives one execution; a check warns of an intent that takes more.
 */
export const executionGasMax = 5_000_000;

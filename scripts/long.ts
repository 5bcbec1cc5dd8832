// Selects the tests and repetitions that only `npm run test:long` runs.

/** Set by `npm run test:long`. */
export const isLong = process.env.TESTS === "long";

/**
 * The options of a test that `npm test` skips, because the test is a control or a variant of a main
 * case that `npm test` runs.
 */
export const onlyLong = { skip: !isLong && "npm run test:long" };

/** Returns the number of repetitions in `npm test` or in `npm run test:long`. */
export const rounds = (short: number, long: number): number => (isLong ? long : short);

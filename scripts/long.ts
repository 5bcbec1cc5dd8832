// What `npm run test:long` adds to the tests of `npm test`.

/** Set by `npm run test:long`. */
export const isLong = process.env.TESTS === "long";

/**
 * Options for a test of a variant or control, which `npm test` skips because it runs the main case.
 */
export const onlyLong = { skip: !isLong && "npm run test:long" };

/** Returns the number of repetitions in `npm test` or in `npm run test:long`. */
export const rounds = (short: number, long: number): number => (isLong ? long : short);

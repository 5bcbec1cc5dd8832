// Selects the tests and repetitions that run only in `npm run test:long`.

/** Set by `npm run test:long`. */
export const isLong = process.env.TESTS === "long";

/** Makes `npm test` skip a test, for example a control test or a variant of another test. */
export const onlyLong = { skip: !isLong && "npm run test:long" };

/** Returns `short` in `npm test`, and `long` in `npm run test:long`. */
export const rounds = (short: number, long: number): number => (isLong ? long : short);

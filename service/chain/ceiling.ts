/** Gas of one execution that the executor goes up to; checks tell who creates what takes more. */
export const executionGasMax = 5_000_000;

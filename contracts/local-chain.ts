// The local chain, for the nodes of tests and for the dashboard's payments in a local setup.

/** The chain ID of anvil and Hardhat; no chain with real money has it. */
export const localChainId = 31_337;

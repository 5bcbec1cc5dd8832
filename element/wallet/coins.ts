// The coins in which fees are paid, by the chains of service/chains.json.

export const coins: Readonly<Record<number, string>> = {
  1: "ETH",
  10: "ETH",
  137: "POL",
  8453: "ETH",
  42161: "ETH",
  43114: "AVAX",
};

/** The coin of every chain that is listed has as many. */
export const coinDecimals = 18;

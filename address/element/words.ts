/** What the element says. A page in another language sets its own: `element.words = {…}`. */
export const elementWords = {
  loading: "Checking the address",
  wrong: "Do not pay: what the server answered does not belong to this address.",
  missing: "Nothing is known about this address.",
  unreachable: "The address could not be looked up. Do not pay yet.",
  on: "on {chain}",
  chain: "chain {id}",
  baseUnits: "{amount} base units of a token that is not listed",
  qr: "QR code of the address {address}",
  copy: "Copy the address",
  copied: "Copied",
  copyRefused: "Select it and copy by hand",
  mustShow: "Check in your wallet: {amount} to {address}, network {chain}",
  details: "What paying does",
  silent: "No news from the server",
  unknown: "State unknown",
  unfunded: "Waiting for payment",
  partly: "Partly paid: this is what is still to pay",
  paid: "Paid, about to run",
  stuck: "Paid, cannot run now",
  executed: "Done",
  expired: "Expired: do not pay",
  recovered: "Expired, and the money was sent to the recovery address",
  fails: "It cannot run now: do not pay",
  soon: "It expires within minutes: a payment may come too late",
};

export type ElementWords = typeof elementWords;

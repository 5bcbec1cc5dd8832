// `executable-address-element/page`: code that the payment page and the element share.

export * from "executable-address/payment";
export { isSame } from "executable-address/status";
export { type Chain, findChains, readChains, type Token } from "./chains.ts";
export { drawIdenticon, identiconSide } from "./drawing/identicon.ts";
export { drawQr } from "./drawing/qr-code.ts";
export { type FollowOptions, followStatus } from "./follow.ts";
export { findHazards, type Hazard } from "./hazards.ts";
export { type News, noNews } from "./news.ts";
export { type FoundSimulation, findSimulation } from "./simulation.ts";
export {
  type Doubt,
  decideOffer,
  decideStanding,
  findStateWord,
  findWrongTokens,
  isOver,
  type Standing,
  type WrongTokenNews,
} from "./standing.ts";
export { coinDecimals, coins, findKnownToken } from "./tokens.ts";
export { openWalletFlow, type WalletFlow } from "./wallet/flow.ts";
export {
  ask,
  PaymentRefused,
  type Refusal,
  type WalletProvider,
} from "./wallet/provider.ts";
export { type Order, type Step, sendPayment } from "./wallet/send.ts";
export { forget, recall, remember } from "./wallet/storage.ts";
export {
  findStoredPayment,
  forgetStoredPayment,
  type StoredPayment,
  storePayment,
} from "./wallet/stored-payment.ts";
export {
  isInProgress,
  type Message,
  type PaymentNow,
  type Value,
  type WalletView,
} from "./wallet/view.ts";
export { followWallets, sayWalletName, type Wallet } from "./wallet/wallets.ts";
export { elementWords, fill, findLanguage, type LanguageTag, loadElementWords } from "./words.ts";

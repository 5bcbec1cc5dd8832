// What each path of the package exports: whoever adds a name or drops one says so here.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";

const exported: Record<string, string> = {
  ".": `
    InvalidError batchCalldata batchSelector conditionsAddress decodeExecutions decodeTerms
    deriveAddress drawSalt encodeBalanceOf encodeCall encodeExecution encodeNewIntent
    encodeTerms encodeTransfer executeCalldata executeSelector factoryAddress findCautions
    formatAddress fromHex guardsAddress initCodePrefix isAddress keccak256 makeRecord
    parseAddress parseIntent parseJson recoverCalldata recoverSelector requireBalance requireClosed
    requireExecuted requireGas requirementOf rescueSelector termsBytesMax tipAddress tipOf toHex
    vaultCodeBytes verifyRecord zeroAddress`,
  "./client": `
    ClientError InvalidError NetworkError ServiceError UnprovenError WaitError apiKeyPattern
    clientIdPattern createClient findingCodes readRetryAfterSeconds`,
  "./status": `
    RpcError StatusError addEvents addressStates decodeFactoryEvent executionReverted findBlock
    findFirstBlock fromQuantity httpRpc invalidParameters isNativeToken isOpenState isSame lowerHex
    noPast parseVaultEvents readStatus stateOf statusOf toQuantity topicOf transferOf transferTopic
    vaultEventFilter withoutCoinParams`,
  "./page": `
    PaymentRefused addressGroups ask coinDecimals coins drawIdenticon drawQr elementWords fill
    findChains findKept findSimulation followStatus followWallets forget formatUnits hasHidden
    hazardsOf identiconSide inertPieces isName isOver isSame keep languageOf loadElementWords
    manifestPath nameOf noNews onKept originOf owed partiesOf partsOf paymentLink plainUnits
    proveShop readChains readShopClaim recall remember sendPayment
    shortAddress signatureOf standingOf unlimitedFrom watchPayment`,
  "./proof": `
    ProofError agreeOnReceipt askEvents askOutcome blockHashOf findPayments makeReceipt
    proveAddress proveAt proveExecution proveOutcome provePayment proveRecovery readAgreed
    rebuild receiptFormat verifyAddressProof verifyReceipt`,
  "./payment":
    "addressGroups drawQr formatUnits originOf owed partiesOf paymentLink plainUnits shortAddress",
  "./element": "ExecutableAddressElement",
  "./recovery": "ExecutableRecoveryElement",
  "./react": "ExecutableAddress",
  "./webhook": "ProofError WebhookError eventTypes proveEvent verifyWebhook",
  "./reference": "parseReference referenceKeyPattern saltFor signatureFor verifyReference",
  "./shop": "InvalidError WebhookError openShop postgresStore sameOrder signShopLink sqliteStore",
};

describe("exports are these and no others", () => {
  const manifest = JSON.parse(readFileSync(new URL("package.json", import.meta.url), "utf8"));

  test("of the package, its paths", () =>
    assert.deepEqual(Object.keys(manifest.exports).sort(), Object.keys(exported).sort()));

  for (const [path, names] of Object.entries(exported)) {
    const specifier = path.replace(".", manifest.name);
    test(`of ${specifier}`, async () =>
      assert.deepEqual(Object.keys(await import(specifier)), names.trim().split(/\s+/)));
  }
});

// Lists all names that the published packages export, by the path of the export. Update this list
// when you add or remove an export.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";

const exported: Record<string, string> = {
  "executable-address": `
    InvalidError approvalOf batchCalldata batchSelector collectionOf collectorAddress
    conditionsAddress decodeExecutions decodeTerms deriveAddress drawSalt encodeBalanceOf
    encodeCall encodeExecution encodeNewIntent encodeTerms encodeTransfer executeCalldata
    executeSelector factoryAddress findCautions formatAddress fromHex gasMargin guardsAddress
    initCodePrefix isAddress isHash keccak256 makeRecord parseAddress parseIntent parseJson
    payWithTolerance recoverCalldata recoverSelector requestedAmount requireBalance
    requireClosed requireExecuted requireGas requirementOf rescueSelector termsBytesMax
    tipAddress tipOf toHex unlimitedFrom vaultCodeBytes verifyRecord zeroAddress`,
  "executable-address/client": `
    ClientError InvalidError NetworkError ServiceError UnprovenError WaitError apiKeyPattern
    clientIdPattern createClient findingCodes readRetryAfterSeconds`,
  "executable-address/client/internal": `
    ServiceError address apiKeyFormat clientIdFormat deliveryIdPattern describeValue
    endpointIdPattern eventIdPattern findRecord fits integer measuredBalancesMax parseAgreement
    pickAgreed pingMs proveSimulation publicKeyPrefix readMessages refuseUnknown secretPrefix
    sleep termsOffsets within`,
  "executable-address/proof/internal": `
    buildProof encodeCount encodeReceipt encodeRlp encodeTransaction listHeaders vaultCodes`,
  "executable-address/status": `
    RpcError StatusError addEvents addressStates decodeFactoryEvent deriveReturns
    executedTopic executionReverted findBlock findFirstBlock fromQuantity httpRpc
    invalidParameters isNativeToken isOpenAt isOpenState isSame lowerHex mistakes noPast
    parseVaultEvents policyIn readStatus recoveredTopic stateOf statusOf toQuantity topicOf
    transferOf transferTopic vaultEventFilter withoutCoinParams`,
  "executable-address-element/page": `
    PaymentRefused addressGroups ask chainNameMax coinDecimals coins decideOffer decideStanding
    decimalsMax drawIdenticon drawQr elementWords fill findChains findHazards findKnownToken
    findLanguage findSimulation findStateWord findStoredPayment findWrongTokens followStatus
    followWallets forget forgetStoredPayment formatUnits hasHidden identiconSide inertPieces
    inertText isInProgress isName isOver isSame loadElementWords manifestPath noNews openWalletFlow
    originOf owed partiesOf paymentLink plainUnits proveShop readChains readShopClaim recall
    remember sayWalletName sendPayment shortAddress signShopLink storePayment symbolMax`,
  "executable-address/proof": `
    ProofError agreeOnReceipt askEvents askOutcome blockHashOf findPayments makeReceipt
    proveAddress proveAt proveExecution proveOutcome provePayment proveRecovery readAgreed
    rebuild receiptFormat verifyAddressProof verifyReceipt`,
  "executable-address/payment": `
    addressGroups chainNameMax decimalsMax formatUnits hasHidden inertPieces inertText isName
    manifestPath originOf owed partiesOf paymentLink plainUnits proveShop readShopClaim
    shortAddress signShopLink symbolMax`,
  "executable-address-element": "ExecutableAddressElement",
  "executable-address-element/recovery": "ExecutableRecoveryElement",
  "executable-address-element/react": "ExecutableAddress",
  "executable-address/webhook": "ProofError WebhookError eventTypes proveEvent verifyWebhook",
  "executable-address/reference": `
    normalizeReference parseReference referenceCharactersMax referenceKeyPattern saltFor
    saltForOrder signatureFor verifyReference`,
  "executable-address/shapes": `
    address addressPage addressProof addressRecord addressStatus among argsMax attempt
    balanceChange blockReference call callsMax chain chainId chainList check codePattern count
    createdBy delivery deliveryPage depth describeLength describeMisfit either endpoint endpointPage
    eventData eventPage eventType execution executorProgress finding fits flag hash immutable
    integer intent list listedAddress matching mistakes moneyReturn
    newEndpoint newSecret note object orNull outcomeProof path payment paymentKinds paymentNews
    paymentReturns proved provedExecution provedPayment provedPaymentsMax publicKey quoted
    recovery removedEndpoint replayed returnPolicy returnTimes returnTriggers returnedParts
    scanJson sentMoney sentTest sentToken serviceEvent serviceStatus simulation state testEvent
    text time token tokenAmount transactionProof uint256`,
  "executable-address-shop":
    "InvalidError WebhookError openShop postgresStore sameOrder signShopLink sqliteStore",
};

describe("the public names of the packages", () => {
  for (const room of ["address", "element", "shop"]) {
    const path = join(import.meta.dirname, "..", room, "package.json");
    const manifest = JSON.parse(readFileSync(path, "utf8"));
    const { name } = manifest;

    test(`${name} exports exactly the listed paths`, () => {
      const listed = Object.keys(exported).filter((each) => each.split("/")[0] === name);
      const paths = Object.keys(manifest.exports).map((each) => each.replace(".", name));
      assert.deepEqual(paths.sort(), listed.sort());
    });
  }

  for (const [specifier, names] of Object.entries(exported))
    test(`${specifier} exports exactly the listed names`, async () =>
      assert.deepEqual(Object.keys(await import(specifier)), names.trim().split(/\s+/)));
});

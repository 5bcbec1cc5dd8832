// Well-known functions that move money or allow others to move money. After about 2^32 tries, an
// attacker finds a harmless-looking name with the selector of `approve`. The list cannot be
// complete, because a target can have its own functions that move money.

import type { AbiFunction } from "../abi/cache.ts";
import { toHex } from "../abi/hex.ts";
import type { Fault } from "../errors.ts";
import { keccak256 } from "../keccak/keccak.ts";

/** Returns the `selector_clash` fault of a function, if a well-known function has its selector. */
export function findSelectorClash({ signature, selector }: AbiFunction): Fault | undefined {
  const owner = findSelectorOwner(selector);
  if (owner === undefined || owner === signature) return undefined;
  const message = `its selector ${selector} belongs to the well-known function ${owner}`;
  return { code: "selector_clash", message };
}

const intent = "(address,uint256,(address,string,string,bytes)[],uint64,address,bytes32,uint256)";
const permitted = "(address,uint256),uint256,uint256";
const permits = "(address,uint256)[],uint256,uint256";
const allowed = "(address,uint160,uint48,uint48)";
const authorization = "address,address,uint256,uint256,uint256,bytes32";
const signature = "uint8,bytes32,bytes32";
const pool = "(address,address,address,address,uint256,uint256,uint256)";
const userOperation = "(address,uint256,bytes,bytes,bytes32,uint256,bytes32,bytes,bytes)";

/** The signatures, grouped by source. A test compares each selector with viem. */
export const wellKnown: Readonly<Record<string, string>> = {
  "ERC-20 and extensions": `
    transfer(address,uint256) transferFrom(address,address,uint256) approve(address,uint256)
    allowance(address,address) balanceOf(address) mint(address,uint256) mint(address) mint(uint256)
    burn(uint256) burn(address,uint256) burnFrom(address,uint256) issue(uint256) redeem(uint256)
    increaseAllowance(address,uint256) decreaseAllowance(address,uint256)
    increaseApproval(address,uint256) decreaseApproval(address,uint256)
    push(address,uint256) pull(address,uint256) move(address,address,uint256)`,
  "ERC-677 and 1363": `
    transferAndCall(address,uint256) transferAndCall(address,uint256,bytes)
    transferFromAndCall(address,address,uint256) transferFromAndCall(address,address,uint256,bytes)
    approveAndCall(address,uint256) approveAndCall(address,uint256,bytes)`,
  "ERC-2612 (also DAI, USDC), ERC-5805": `
    permit(address,address,uint256,uint256,${signature})
    permit(address,address,uint256,uint256,bool,${signature})
    permit(address,address,uint256,uint256,bytes)
    delegate(address) delegateBySig(address,uint256,uint256,${signature})`,
  "ERC-3009": `
    transferWithAuthorization(${authorization},${signature})
    transferWithAuthorization(${authorization},bytes)
    receiveWithAuthorization(${authorization},${signature})
    receiveWithAuthorization(${authorization},bytes)
    cancelAuthorization(address,bytes32,${signature}) cancelAuthorization(address,bytes32,bytes)`,
  "ERC-721": `
    safeTransferFrom(address,address,uint256) safeTransferFrom(address,address,uint256,bytes)
    setApprovalForAll(address,bool) safeMint(address,uint256) safeMint(address)
    onERC721Received(address,address,uint256,bytes)`,
  "ERC-777": `
    send(address,uint256,bytes) burn(uint256,bytes)
    operatorSend(address,address,uint256,bytes,bytes) operatorBurn(address,uint256,bytes,bytes)
    authorizeOperator(address) revokeOperator(address)`,
  "ERC-1155 and 6909": `
    safeTransferFrom(address,address,uint256,uint256,bytes)
    safeBatchTransferFrom(address,address,uint256[],uint256[],bytes)
    mint(address,uint256,uint256,bytes) mintBatch(address,uint256[],uint256[],bytes)
    burn(address,uint256,uint256) burnBatch(address,uint256[],uint256[])
    onERC1155Received(address,address,uint256,uint256,bytes)
    onERC1155BatchReceived(address,address,uint256[],uint256[],bytes)
    transfer(address,uint256,uint256) transferFrom(address,address,uint256,uint256)
    approve(address,uint256,uint256) setOperator(address,bool)`,
  "ERC-4626 and 7540": `
    deposit(uint256,address) mint(uint256,address) deposit(uint256) redeem(uint256,address)
    withdraw(uint256,address,address) redeem(uint256,address,address)
    deposit(uint256,address,address) mint(uint256,address,address)
    requestDeposit(uint256,address,address) requestRedeem(uint256,address,address)`,
  WETH: `
    deposit() withdraw(uint256) depositTo(address) withdrawTo(address,uint256)
    withdrawFrom(address,address,uint256) depositToAndCall(address,bytes)
    flashLoan(address,address,uint256,bytes)`,
  Permit2: `
    approve(address,address,uint160,uint48) transferFrom(address,address,uint160,address)
    transferFrom((address,address,uint160,address)[]) lockdown((address,address)[])
    permit(address,(${allowed},address,uint256),bytes)
    permit(address,(${allowed}[],address,uint256),bytes)
    permitTransferFrom((${permitted}),(address,uint256),address,bytes)
    permitTransferFrom((${permits}),(address,uint256)[],address,bytes)
    permitWitnessTransferFrom((${permitted}),(address,uint256),address,bytes32,string,bytes)
    permitWitnessTransferFrom((${permits}),(address,uint256)[],address,bytes32,string,bytes)
    invalidateNonces(address,address,uint48) invalidateUnorderedNonces(uint256,uint256)`,
  "Uniswap v2": `
    swapExactTokensForTokens(uint256,uint256,address[],address,uint256)
    swapTokensForExactTokens(uint256,uint256,address[],address,uint256)
    swapExactETHForTokens(uint256,address[],address,uint256)
    swapTokensForExactETH(uint256,uint256,address[],address,uint256)
    swapExactTokensForETH(uint256,uint256,address[],address,uint256)
    swapETHForExactTokens(uint256,address[],address,uint256)
    swapExactTokensForTokensSupportingFeeOnTransferTokens(uint256,uint256,address[],address,uint256)
    swapExactETHForTokensSupportingFeeOnTransferTokens(uint256,address[],address,uint256)
    swapExactTokensForETHSupportingFeeOnTransferTokens(uint256,uint256,address[],address,uint256)
    addLiquidity(address,address,uint256,uint256,uint256,uint256,address,uint256)
    addLiquidityETH(address,uint256,uint256,uint256,address,uint256)
    removeLiquidity(address,address,uint256,uint256,uint256,address,uint256)
    removeLiquidityETH(address,uint256,uint256,uint256,address,uint256)
    swap(uint256,uint256,address,bytes) skim(address)`,
  "Uniswap v3 and its routers": `
    exactInputSingle((address,address,uint24,address,uint256,uint256,uint256,uint160))
    exactInput((bytes,address,uint256,uint256,uint256))
    exactOutputSingle((address,address,uint24,address,uint256,uint256,uint256,uint160))
    exactOutput((bytes,address,uint256,uint256,uint256))
    exactInputSingle((address,address,uint24,address,uint256,uint256,uint160))
    exactInput((bytes,address,uint256,uint256))
    exactOutputSingle((address,address,uint24,address,uint256,uint256,uint160))
    exactOutput((bytes,address,uint256,uint256))
    swapExactTokensForTokens(uint256,uint256,address[],address)
    swapTokensForExactTokens(uint256,uint256,address[],address)
    unwrapWETH9(uint256,address) unwrapWETH9(uint256) refundETH() wrapETH(uint256)
    unwrapWETH9WithFee(uint256,address,uint256,address)
    sweepToken(address,uint256,address) sweepToken(address,uint256)
    sweepTokenWithFee(address,uint256,address,uint256,address)
    selfPermit(address,uint256,uint256,${signature})
    selfPermitAllowed(address,uint256,uint256,${signature})
    mint((address,address,uint24,int24,int24,uint256,uint256,uint256,uint256,address,uint256))
    increaseLiquidity((uint256,uint256,uint256,uint256,uint256,uint256))
    decreaseLiquidity((uint256,uint128,uint256,uint256,uint256))
    collect((uint256,address,uint128,uint128))
    execute(bytes,bytes[]) execute(bytes,bytes[],uint256)`,
  "1inch, 0x, Curve, Balancer": `
    swap(address,${pool},bytes) swap(address,${pool},bytes,bytes)
    unoswap(uint256,uint256,uint256,uint256) unoswap(address,uint256,uint256,uint256[])
    unoswapTo(uint256,uint256,uint256,uint256,uint256)
    uniswapV3Swap(uint256,uint256,uint256[])
    transformERC20(address,address,uint256,uint256,(uint32,bytes)[])
    execute((address,address,uint256),bytes[],bytes32)
    exchange(int128,int128,uint256,uint256) exchange(uint256,uint256,uint256,uint256)
    exchange_underlying(int128,int128,uint256,uint256)
    add_liquidity(uint256[2],uint256) add_liquidity(uint256[3],uint256)
    remove_liquidity(uint256,uint256[2]) remove_liquidity(uint256,uint256[3])
    remove_liquidity_one_coin(uint256,int128,uint256)
    swap((bytes32,uint8,address,address,uint256,bytes),(address,bool,address,bool),uint256,uint256)
    joinPool(bytes32,address,address,(address[],uint256[],bytes,bool))
    exitPool(bytes32,address,address,(address[],uint256[],bytes,bool))`,
  "Aave, Compound, Lido": `
    supply(address,uint256,address,uint16) withdraw(address,uint256,address)
    deposit(address,uint256,address,uint16) borrow(address,uint256,uint256,uint16,address)
    repay(address,uint256,uint256,address) approveDelegation(address,uint256)
    setUserUseReserveAsCollateral(address,bool)
    supplyWithPermit(address,uint256,address,uint16,uint256,${signature})
    supply(address,uint256) supplyTo(address,address,uint256) withdraw(address,uint256)
    withdrawTo(address,address,uint256) transferAsset(address,address,uint256) allow(address,bool)
    redeemUnderlying(uint256) borrow(uint256) repayBorrow(uint256)
    submit(address) wrap(uint256) unwrap(uint256) requestWithdrawals(uint256[],address)
    stake(uint256) unstake(uint256) claim() claim(address) exit() getReward()`,
  bridges: `
    depositForBurn(uint256,uint32,bytes32,address)
    depositForBurn(uint256,uint32,bytes32,address,bytes32,uint256,uint32)
    depositForBurnWithCaller(uint256,uint32,bytes32,address,bytes32)
    send((uint32,bytes32,uint256,uint256,bytes,bytes,bytes),(uint256,uint256),address)
    outboundTransfer(address,address,uint256,uint256,uint256,bytes)
    bridgeERC20To(address,address,address,uint256,uint32,bytes)
    bridgeETHTo(address,uint32,bytes)
    transferTokens(address,uint256,uint16,bytes32,uint256,uint32)`,
  multicalls: `
    multicall(bytes[]) multicall(uint256,bytes[]) multicall(bytes32,bytes[]) multiSend(bytes)
    aggregate((address,bytes)[]) tryAggregate(bool,(address,bytes)[])
    aggregate3((address,bool,bytes)[]) aggregate3Value((address,bool,uint256,bytes)[])
    disperseEther(address[],uint256[]) disperseToken(address,address[],uint256[])`,
  "Safe, ERC-4337, 7579": `
    execTransaction(address,uint256,bytes,uint8,uint256,uint256,uint256,address,address,bytes)
    execTransactionFromModule(address,uint256,bytes,uint8) enableModule(address)
    addOwnerWithThreshold(address,uint256) removeOwner(address,address,uint256)
    swapOwner(address,address,address) changeThreshold(uint256) setGuard(address)
    setFallbackHandler(address) execute(address,uint256,bytes) execute(bytes32,bytes)
    executeBatch(address[],uint256[],bytes[]) executeBatch((address,uint256,bytes)[])
    installModule(uint256,address,bytes) uninstallModule(uint256,address,bytes)
    handleOps(${userOperation}[],address) withdrawStake(address)`,
  "ownership and upgrades": `
    setOwner(address) transferOwnership(address) acceptOwnership() renounceOwnership()
    changeOwner(address) claimOwnership() setPendingAdmin(address) acceptAdmin()
    grantRole(bytes32,address) revokeRole(bytes32,address) renounceRole(bytes32,address)
    rely(address) deny(address) hope(address) addMinter(address) removeMinter(address)
    configureMinter(address,uint256) pause() unpause() initialize() initialize(address)
    upgradeTo(address) upgradeToAndCall(address,bytes) upgrade(address,address)
    upgradeAndCall(address,address,bytes) changeAdmin(address) changeProxyAdmin(address,address)
    diamondCut((address,uint8,bytes4[])[],address,bytes)
    blacklist(address) unBlacklist(address) setAuthorizationState(address,bool)
    addBlackList(address) removeBlackList(address) destroyBlackFunds(address)
    rescueERC20(address,address,uint256)`,
  PaymentFactory: `
    execute(${intent}) batch(bytes[]) recover(${intent},address[])
    rescue(${intent},address,uint256,bytes)`,
};

let bySelector: Map<string, string> | undefined;

/** Returns the signature of the well-known function with this `selector` (lowercase). */
export function findSelectorOwner(selector: string): string | undefined {
  bySelector ??= hashAll();
  return bySelector.get(selector);
}

/** Computes the selectors of all well-known functions. Runs only once, at the first lookup. */
function hashAll(): Map<string, string> {
  const signatures = Object.values(wellKnown).flatMap((group) => group.trim().split(/\s+/));
  return new Map(signatures.map((text) => [computeSelector(text), text]));
}

const ascii = new TextEncoder();
const computeSelector = (text: string): string =>
  toHex(keccak256(ascii.encode(text)).subarray(0, 4));

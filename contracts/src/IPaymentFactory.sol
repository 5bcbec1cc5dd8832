// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @notice One call of an intent. The function `approve(address spender, uint256 amount)` is stored
/// as the signature `approve(address,uint256)` and the names `spender,amount`. For a tuple, `names`
/// also contains the names of its fields, for example `(to,amount)payments`. The selector is
/// computed on chain from `signature`. `names` is only for display. `args` contains the ABI-encoded
/// arguments.
struct Call {
    address target;
    string signature;
    string names;
    bytes args;
}

/// @notice Defines the purpose of the money that is sent to an address. `amount` is in base units
/// of `token`. `expirationTimestamp` is the last second in which the calls can run. It is Unix time
/// by the chain's clock.
struct Intent {
    address token;
    uint256 amount;
    Call[] calls;
    uint64 expirationTimestamp;
    address recovery;
    bytes32 salt;
    uint256 chainId;
}

/// @title PaymentFactory: addresses that execute the calls of an intent once they are paid.
///
/// @notice An intent has the same address, its vault, on every chain. The vault is the factory's
/// CREATE2 address for `PREFIX ‖ abi.encode(intent)`. Anyone can read the vault's state from the
/// chain:
///
///     OPEN    no code, `chainId` is this chain, now <= expirationTimestamp     execute
///     OVER    code                                                             recover, rescue
///     CLOSED  no code, and expired or another chain                            recover, rescue
///
/// An execution changes OPEN to OVER, and a recovery changes CLOSED to OVER. There is no other
/// transition. The code of a vault shows, without any log, whether the vault was executed or
/// closed. The code is the same on every chain. The code of an executed vault has 41 bytes. A vault
/// that was closed without running a call has the same bytes and a zero byte at the end. The
/// EXTCODEHASH of a vault's code is:
///
///     executed  0x76787dbd4cf201a1655ade6889aeb3b4f0ec211e67f5a3b4f05ad4ff124e3cd1
///     closed    0x1294ad7c9f5dfedf7179ece44f5d55163889fd523614a369f2aa2b25c109c74b
///
/// A vault behaves in the same way with both codes. Its code can never change. The factory has no
/// owner, no money, and no storage, and its code cannot change. A caller chooses only the moment,
/// the gas, and the tokens to recover.
///
/// @dev Numbered assumptions about everything outside these contracts.
///
/// If one of these assumptions is false, money can go to places that the intent does not name:
///
/// 1. The payers agree to the intent's calls. The vault makes the calls, so they can spend its
///    whole balance, not only `amount`. If the calls leave an unused allowance, the spender can
///    take later payments before a recovery returns them. So approve exactly the amount that the
///    calls spend.
/// 2. A target's function does what its signature says. A selector has only 4 bytes. With about
///    2^32 tries, anyone can find a harmless signature with the selector of a harmful function. A
///    target without the function runs its fallback instead. If the fallback does not revert, the
///    factory treats the call as successful.
/// 3. A target has the same effect for every caller, at every time, and with any gas. A call that
///    succeeds with less than a quarter of its gas left is reverted ({TooLittleGas}). Some targets
///    continue after an inner call has run out of gas (`try`/`catch`, tolerant multicalls). The
///    revert protects such a target if the inner call is at most 17 calls deeper. The revert does
///    not protect a target that reads the remaining gas and acts on it. The revert also does not
///    protect a target that passes a share of its gas to an inner call. A swap without a minimum
///    result can be exploited by trades before and after it.
/// 4. A target reverts if it cannot do its work. Return values count only for ERC-20's transfer,
///    transferFrom, and approve. Any other function counts as successful if it does not revert,
///    even if it returns an error code. For example, `mint` of Compound v2 returns 13 if it did
///    nothing.
/// 5. A target is still a contract when the calls run. With EIP-7702, an account can delegate its
///    calls to an address without code. The factory treats this account as a contract, because the
///    account itself has code. A call to this account succeeds, but does nothing.
/// 6. The token reports correct balances. They change only by the token's own rules. If a token
///    rebases, takes a fee, or is paused, the vault's balance can be lower than `amount`. The vault
///    then waits, and expires.
/// 7. The chain's CREATE2 works as on Ethereum. `recovery` has the same owner on every chain. Money
///    sent on a wrong chain goes to `recovery` on that chain. The chain has MCOPY (Cancun). Without
///    MCOPY, the factory cannot be created.
///
/// If one of these assumptions is false, money can stay in the vault longer. The money still goes
/// only to places that the intent names:
///
/// 8. Someone executes the intent before the expiry, at a moment when every call succeeds.
/// 9. The block's time is close to real time. On Arbitrum, it can be up to 24 hours behind or up to
///    1 hour ahead. An intent there can expire 24 hours late or 1 hour early, so execute it more
///    than 1 hour before the expiry. If a chain halts until after the expiry, the vault is CLOSED.
/// 10. `recovery` can receive. A token or native coin that `recovery` cannot receive stays in the
///     vault. Other tokens are still sent. If `recovery` is a contract, it can still move the
///     remaining money with {rescue}. The gas floor of {TooLittleGas} does not apply to recoveries.
///     The caller of a recovery chooses the gas limit. A token's transfer can therefore get too
///     little gas for the token's own work. The same is true for a contract at `recovery` that
///     receives native coin and tolerates failing inner calls.
///
/// There are known limits. While the vault is OPEN, tokens other than the intent's token cannot be
/// recovered. NFTs can leave only with {rescue}. Before the expiry, anyone can complete a partial
/// payment, so that the calls run. With about 2^80 tries, a creator could find a collision: a vault
/// with the same address as another vault or account.
///
/// The encoding is part of the address. Encode calldata as standard ABI encoders do. The arguments
/// are in order and share no bytes, and no bytes follow them. With any other layout, the function
/// reverts or uses a different address. For example, bytes after the calldata of {execute} change
/// the address.
///
/// Each event follows the external calls that it reports, because the factory measures the amounts.
/// A reentrant call cannot exploit this order. The factory has no storage that could be out of
/// date. CREATE2 creates a vault only once, and a balance can be sent only once. If a token reports
/// false balances, the amounts in events can be false. During a recovery, a token's hook can start
/// a second recovery, which sends the whole balance. If the transfer of the first recovery then
/// returns true, both recoveries emit {Recovered} for the same movement.
interface IPaymentFactory {
    /// @notice The calls of `vault` ran. `held` and `left` are the vault's balances of the intent's
    /// token before and after the calls.
    event Executed(address indexed vault, address indexed token, uint256 held, uint256 left);
    /// @notice An item of a batch failed and had no effect. `caller` called {batch}, and `index` is
    /// the item's position, from 0. The other items are not affected. If an item got too little
    /// gas, `reason` is usually empty.
    event ItemFailed(address indexed caller, uint256 indexed index, bytes reason);
    /// @notice `vault` was closed, because its intent had expired or is for a different chain. The
    /// intent's calls can never run.
    event Closed(address indexed vault);
    /// @notice `amount` of `token` (zero address: native coin) left `vault` for its `recovery`.
    event Recovered(address indexed vault, address indexed token, uint256 amount);
    /// @notice The balance of `token` could not be read, or its transfer failed. A transfer fails
    /// if it reverts, or if the vault's balance does not fall. A transfer also fails if it returns
    /// neither true nor an empty result, even if money moved. Other tokens are not affected. If the
    /// token's share of the gas was too small, `reason` is usually empty.
    event RecoveryFailed(address indexed vault, address indexed token, bytes reason);

    error WrongChain(uint256 wanted, uint256 found);
    error Expired(uint256 expirationTimestamp, uint256 found);
    /// @notice The vault is still open, so nothing can be recovered. `found` is the block's time.
    error NotRecoverable(address vault, uint256 expirationTimestamp, uint256 found);
    error AlreadyOver(address vault);
    error Underfunded(address vault, uint256 wanted, uint256 found);
    /// @notice The target of the call at `index` has no code. The first call has index 0.
    error NoCode(uint256 index, address target);
    /// @notice The call at `index` failed. The first call has index 0. A call fails if it reverts.
    /// An ERC-20 transfer, transferFrom, or approve also fails if it returns a value other than
    /// true. `reason` is the first 256 bytes of the result.
    error CallFailed(uint256 index, address target, bytes reason);
    /// @notice The call at `index` succeeded, but less than a quarter of its gas was left. An inner
    /// call may therefore have run out of gas without making the whole call fail. A higher gas
    /// limit helps, unless the call uses all gas that it gets. With the limit of EIP-7825
    /// (16,777,216 gas), a call can use at most about 11.8 million.
    /// @dev The error contains no amounts of gas. They do not show which gas limit is sufficient. A
    /// higher gas limit also increases the gas that the call must leave unused.
    error TooLittleGas(uint256 index, address target);
    /// @notice `vault` could not be created. The gas ran out, or the vault's own calls tried to
    /// create it.
    error CreationFailed(address vault);
    /// @notice `token` did not return a 32-byte word for `balanceOf(vault)`. The token has no code,
    /// reverted, or ran out of gas.
    error BalanceUnknown(address token, address vault);
    error NotRecovery(address wanted, address found);
    /// @notice The intent is shorter than seven words (224 bytes), the minimum. `start` is its
    /// position in the calldata, and `end` is the position of the next argument. {addressOf} also
    /// reverts with this error if the intent does not start at byte 36 of the calldata.
    error NotCanonical(uint256 start, uint256 end);
    /// @notice An item of a batch is neither {execute} nor {recover}. `selector` is the first four
    /// bytes of the item.
    /// @dev The error omits the two valid selectors, because they are constants.
    error NotAnItem(bytes4 selector);
    /// @notice `wanted` is the maximum length of terms in bytes.
    error TermsTooLong(uint256 wanted, uint256 found);

    /// @notice Runs the calls of `intent`, once, from its address. Anyone can call this.
    /// @dev Either all calls run or none. During the calls, the vault has no code, like an ordinary
    /// account. Money that the calls do not use stays in the vault until someone calls {recover}.
    /// @param intent in the layout of standard ABI encoders, with nothing after it
    /// @return vault the address that made the calls
    function execute(Intent calldata intent) external returns (address vault);

    /// @notice If the vault is OVER or CLOSED, sends the whole balance of each token to
    /// `intent.recovery`. The zero address means native coin. Anyone can call this, any number of
    /// times.
    /// @dev Each token is sent separately, with an equal share of the remaining gas. If a token's
    /// transfer fails or runs out of gas, {RecoveryFailed} is emitted. The vault's balance of this
    /// token usually does not change. If the vault has no balance of a token, no event is emitted
    /// for this token. Do not use a gas estimate, because it is too low. Set the gas limit to the
    /// number of tokens times the gas of the most expensive token.
    /// @param intent as in {execute}
    /// @param tokens the tokens to send, in this order. If a token is listed twice, only its
    /// remaining balance is sent the second time
    /// @return vault the address that sends the tokens
    function recover(Intent calldata intent, address[] calldata tokens)
        external
        returns (address vault);

    /// @notice Runs the items separately. An item is the calldata of {execute} or {recover}. A
    /// failing item emits {ItemFailed}.
    /// @dev Each item gets an equal share of the remaining gas, so no item can starve another. A
    /// gas estimate is too low, because failing items do not revert the batch. Set the gas limit to
    /// the number of items times the gas of the most expensive item.
    ///
    /// An execution does not fail if its vault was already executed. The item then returns the
    /// vault without another {Executed} event.
    /// @param items the calldata of each item, including the selector
    /// @return vaults the vault of each item, in this order, or the zero address if the item failed
    function batch(bytes[] calldata items) external returns (address[] memory vaults);

    /// @notice Makes any call from a vault in the state OVER or CLOSED. Only the intent's
    /// `recovery` may call this.
    /// @param intent as in {execute}
    /// @param target the address that the vault calls; can be any address
    /// @param value wei of the vault's coin
    /// @param data the complete calldata for `target`
    /// @return result the first 256 bytes that the target returned
    function rescue(Intent calldata intent, address target, uint256 value, bytes calldata data)
        external
        returns (bytes memory result);

    /// @notice Returns the vault of `intent`, in any state.
    /// @dev Reverts if the intent's offset is not 32. Also reverts if `recovery` or
    /// `expirationTimestamp` does not fit its type. Money of such an intent could never be
    /// recovered.
    /// @param intent as in {execute}
    /// @return vault its address, with or without code
    function addressOf(Intent calldata intent) external view returns (address vault);

    /// @notice Returns the vault of `terms`, whether or not they encode an intent.
    /// @param terms `abi.encode(intent)`, at most 24,576 bytes. {addressOf(Intent)} has the same
    /// limit
    /// @return vault its address, with or without code
    function addressOf(bytes calldata terms) external view returns (address vault);
}

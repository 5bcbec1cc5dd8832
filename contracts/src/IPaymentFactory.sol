// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @notice One call of an intent. `approve(address spender, uint256 amount)` is carried as
/// signature `approve(address,uint256)` and names `spender,amount`; tuples: `(to,amount)payments`.
/// The selector is made from `signature` on chain; `names` are for people; `args` is ABI encoding.
struct Call {
    address target;
    string signature;
    string names;
    bytes args;
}

/// @notice What money sent to an address is for. `amount` is in base units of `token`,
/// `expirationTimestamp` in Unix seconds by the chain's clock, inclusive.
struct Intent {
    address token;
    uint256 amount;
    Call[] calls;
    uint64 expirationTimestamp;
    address recovery;
    bytes32 salt;
    uint256 chainId;
}

/// @title PaymentFactory: addresses that know what money sent to them is for.
///
/// @notice An intent has one address, its vault, on every chain: the CREATE2 address under the
/// factory of `PREFIX ‖ abi.encode(intent)`. A vault is in one of three states, told by the chain:
///
///     OPEN    no code, `chainId` is this chain, now <= expirationTimestamp     execute
///     OVER    code                                                             recover, rescue
///     CLOSED  no code, and expired or another chain                            recover, rescue
///
/// Executing makes OPEN OVER; recovering makes CLOSED OVER. There is no other way, and none back.
/// The code at a vault says which it was, without any log, and is the same on every chain: 41
/// bytes, executed; the same and a zero byte, 42, closed without running a call. By EXTCODEHASH:
///
///     executed  0x76787dbd4cf201a1655ade6889aeb3b4f0ec211e67f5a3b4f05ad4ff124e3cd1
///     closed    0x1294ad7c9f5dfedf7179ece44f5d55163889fd523614a369f2aa2b25c109c74b
///
/// Both do the same for ever after. Nobody owns the factory; it holds nothing, stores nothing and
/// cannot change. A caller chooses the moment, the gas and the tokens to sweep, and nothing else.
///
/// @dev What is assumed of the outside, by number.
///
/// If one of these is false, money may go where the intent does not say:
///
/// 1. The intent's calls are what its payers agreed to. They run as the vault, with all it has,
///    not only `amount`, and a spender they approve keeps what allowance is left: it can take late
///    money before `recover` does. Approve what is spent, no more.
/// 2. A target's function is what its signature says. A selector is 4 bytes: with 2^32 work
///    somebody finds another signature with the selector of a function the target has. A target
///    that lacks the function runs its fallback instead, and where that succeeds the call counts
///    as run.
/// 3. A target has the same effect whoever executes, whenever, with whatever gas. A call that
///    succeeds with less than a quarter of its gas left is undone ({TooLittleGas}). This covers a
///    target that goes on where an inner call ran out of gas (`try`/`catch`, tolerant multicalls),
///    as far as 17 frames below it. It does not cover a target that reads its gas, and decides by
///    it or gives a share of it to its inner call. A swap without a bound can be sandwiched.
/// 4. A target reverts where it fails. Only ERC-20's transfer, transferFrom and approve are held to
///    what they answer: another function that tells its failure by a number counts as run (`mint`
///    of Compound v2 answers 13 where it did nothing).
/// 5. A target stays a contract. An account that EIP-7702 delegates to an address without code has
///    code itself and answers every call: the call counts as run, and did nothing.
/// 6. The token's balances are true, and change only by its own rules. A token that rebases,
///    charges on transfer or is paused can leave less than `amount`: then the vault waits, and
///    expires.
/// 7. The chain is EVM equivalent in CREATE2, and `recovery` is its owner's there too: money sent
///    on a wrong chain goes to that same address on that chain. It has MCOPY (Cancun): the factory
///    cannot be created where that is missing.
///
/// If one of these is false, money may wait, but does not go elsewhere:
///
/// 8. Somebody executes before expiry, at a moment when every call succeeds.
/// 9. The block's time is what people call now, give or take some seconds. Arbitrum's sequencer
///    may be 24 hours behind and 1 hour ahead: there leave that much room before an expiry. A
///    chain that halts past the expiry closes the vault.
/// 10. `recovery` can receive: else the token, or coin, stays in the vault, and other tokens leave.
///     A contract that is `recovery` can still move it by {rescue}. The floor of {TooLittleGas} is
///     of calls only: whoever recovers chooses the gas, so a token, or a `recovery` that takes coin
///     and tolerates a failure within, can be given too little for its own inner work.
///
/// Not protected: a token other than the intent's, sent while OPEN, waits for execution or expiry.
/// NFTs leave only by {rescue}. Whoever gains by the calls may complete a partial payment before
/// expiry, and so have them run. A creator with 2^80 work could find an intent whose vault is also
/// an ordinary account, or the vault of another intent.
///
/// The encoding is part of the address. Each function takes the intent as standard ABI encoders
/// lay it out (arguments in order, nothing shared, nothing behind them); in any other layout it
/// reverts or is another address, which nobody was told to pay. In particular no bytes may be added
/// behind the calldata.
///
/// Amounts in events are measured. A token whose balances are false can make them false. A token
/// with a hook that sends all there is and then answers true can have one movement told twice: by
/// the {Recovered} of a recovery within the hook, and by that of the one around it.
interface IPaymentFactory {
    /// @notice The calls of `vault` ran. `held` and `left` are its balance of the intent's token
    /// before and after.
    event Executed(address indexed vault, address indexed token, uint256 held, uint256 left);
    /// @notice The item at `index` (from 0) of a batch of `caller` failed; nothing of it remains,
    /// the others are untouched. Too little gas is a reason too, mostly with an empty `reason`.
    event ItemFailed(address indexed caller, uint256 indexed index, bytes reason);
    /// @notice `vault` had expired or is on another chain, and is over now: its calls never run.
    event Closed(address indexed vault);
    /// @notice `amount` of `token` (zero address: native coin) left `vault` for its `recovery`.
    event Recovered(address indexed vault, address indexed token, uint256 amount);
    /// @notice `token` could not be sent, or its balance not be read, or its transfer did not
    /// confirm (also where money moved all the same); the others are untouched. `reason` is mostly
    /// empty where its share of the gas was too little.
    event RecoveryFailed(address indexed vault, address indexed token, bytes reason);

    error WrongChain(uint256 wanted, uint256 found);
    error Expired(uint256 expirationTimestamp, uint256 found);
    /// @notice Still open: `found` is the block's time.
    error NotRecoverable(address vault, uint256 expirationTimestamp, uint256 found);
    error AlreadyOver(address vault);
    error Underfunded(address vault, uint256 wanted, uint256 found);
    /// @notice The call at `index` (from 0) was to an address without code.
    error NoCode(uint256 index, address target);
    /// @notice The call at `index` reverted or, where it is ERC-20's transfer, transferFrom or
    /// approve, answered anything but true. `reason` is the first 256 bytes of what came back.
    error CallFailed(uint256 index, address target, bytes reason);
    /// @notice The call at `index` succeeded and left less than a quarter of the gas it was given:
    /// work within it may have run out of gas unnoticed. A higher limit helps, unless the call uses
    /// all gas that it is given: then no limit does. EIP-7825 allows a transaction 16,777,216 gas,
    /// so a call can use about 11.8 million at most.
    error TooLittleGas(uint256 index, address target);
    /// @notice Out of gas, or `vault` is being created at this moment: its own calls ask for it.
    error CreationFailed(address vault);
    /// @notice `token` did not answer `balanceOf(vault)` with a word: it has no code, failed, or
    /// ran out of gas.
    error BalanceUnknown(address token, address vault);
    error NotRecovery(address wanted, address found);
    /// @notice An intent starts at byte `start` of the calldata, and what follows it at byte `end`,
    /// which is before it or less than the 224 bytes of its seven words behind it. Of {addressOf}:
    /// it starts elsewhere than at byte 36, behind the one offset.
    error NotCanonical(uint256 start, uint256 end);
    /// @notice An item of a batch is neither {execute} nor {recover}.
    error NotAnItem(bytes4 selector);
    /// @notice `wanted` is how many bytes they may have.
    error TermsTooLong(uint256 wanted, uint256 found);

    /// @notice Runs the calls of `intent`, once, from the address made for it. Anyone may.
    /// @dev All or nothing. During the calls the vault has no code, as any ordinary account. Money
    /// that they leave stays there for {recover}; nothing is pushed to `recovery`.
    /// @param intent in the one layout that standard encoders give, with nothing behind it
    /// @return vault where the calls ran
    function execute(Intent calldata intent) external returns (address vault);

    /// @notice Sends the whole balance of each token, zero address for native coin, to
    /// `intent.recovery`, once the vault is over or closed. Anyone may, any number of times.
    /// @dev Each token by itself, with an equal share of the gas left: one that cannot be sent, or
    /// burns its share, emits {RecoveryFailed} and is as before; one without balance, nothing. So
    /// the limit should be the count times what the dearest token needs: a gas estimate is too low.
    /// @param intent as {execute} takes it
    /// @param tokens in this order; one that is named twice is sent once
    /// @return vault from which they are sent
    function recover(Intent calldata intent, address[] calldata tokens)
        external
        returns (address vault);

    /// @notice Does each item, the calldata of {execute} or {recover}, by itself; one that fails
    /// emits {ItemFailed}.
    /// @dev An item gets an equal share of the gas left, so that none can starve another: the
    /// transaction's limit should be the count times what the dearest item needs. A gas estimate is
    /// too low, since failing items do not revert the batch.
    ///
    /// An execution whose vault executed before its turn, within another item or before the batch,
    /// is not a failure: the answer is its vault, and {Executed} was told when it ran, once.
    /// @param items calldata, each with its selector
    /// @return vaults in order: what is asked of it is done; the zero address where the item failed
    function batch(bytes[] calldata items) external returns (address[] memory vaults);

    /// @notice Any call from a vault that is over or closed, by its recovery address alone.
    /// @param intent as {execute} takes it
    /// @param target what the vault calls: any address
    /// @param value wei of the vault's coin
    /// @param data calldata for `target`, whole
    /// @return result the first 256 bytes of what the target returned
    function rescue(Intent calldata intent, address target, uint256 value, bytes calldata data)
        external
        returns (bytes memory result);

    /// @notice The vault of `intent`, whatever its state.
    /// @param intent as {execute} takes it. Reverts where it could never be recovered from: moved
    /// in the calldata, or with a recovery or an expiry of more bits than its type has
    /// @return vault its address, with or without code
    function addressOf(Intent calldata intent) external view returns (address vault);

    /// @notice The vault of the intent that `terms` encode, whether or not they encode one.
    /// @param terms `abi.encode(intent)`, at most 24,576 bytes, as those of the other function
    /// @return vault its address, with or without code
    function addressOf(bytes calldata terms) external view returns (address vault);
}

// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @notice One call of an intent. `approve(address spender, uint256 amount)` is carried as signature
/// `approve(address,uint256)` and names `spender,amount`; tuples as `(to,amount)payments`.
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

interface IPaymentFactory {
    /// @notice The calls of `vault` ran. `held` and `left`: its balance of the intent's token before and after.
    event Executed(address indexed vault, address indexed token, uint256 held, uint256 left);
    /// @notice An item of a batch could not execute; the others are untouched by it.
    event ExecutionFailed(address indexed vault, bytes reason);
    /// @notice `amount` of `token` (zero address: native coin) left `vault` for its recovery address.
    event Recovered(address indexed vault, address indexed token, uint256 amount);
    /// @notice `token` could not be sent; the other tokens are untouched by it.
    event RecoveryFailed(address indexed vault, address indexed token, bytes reason);

    error WrongChain(uint256 wanted, uint256 found);
    error Expired(uint256 expirationTimestamp, uint256 found);
    error NotRecoverable(address vault, uint256 expirationTimestamp, uint256 found);
    error AlreadyOver(address vault);
    error Underfunded(address vault, uint256 wanted, uint256 found);
    error NoCode(uint256 index, address target);
    error CallFailed(uint256 index, address target, bytes reason);
    /// @notice Out of gas, or `vault` is being created at this moment: its own calls ask for it.
    error CreationFailed(address vault);
    error NotRecovery(address wanted, address found);

    /// @notice Runs the calls of `intent`, once, from the address made for it. Anyone may.
    function execute(Intent calldata intent) external returns (address vault);

    /// @notice Executes each intent by itself; one that fails emits {ExecutionFailed}.
    function executeBatch(Intent[] calldata intents) external returns (address[] memory vaults);

    /// @notice Sends the whole balance of each token to `intent.recovery`, once the vault is over or closed. Anyone may.
    function recover(Intent calldata intent, address[] calldata tokens) external returns (address vault);

    /// @notice Any call from a vault that is over or closed, by its recovery address alone.
    function rescue(Intent calldata intent, address target, uint256 value, bytes calldata data)
        external
        returns (bytes memory result);

    function addressOf(Intent calldata intent) external view returns (address vault);

    /// @param terms `abi.encode(intent)`
    function addressOf(bytes calldata terms) external view returns (address vault);
}

// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @title Tip
/// @notice Pays the executor of an intent. An intent with a tip approves this contract for the
/// amount and then calls {tip}.
/// @dev The contract has no owner and no storage. The contract moves only its caller's tokens, so
/// nobody else can use a vault's approval.
contract Tip {
    /// @notice `token` did not move `amount` from the caller to `executor`.
    error TipFailed(address token, address executor, uint256 amount);

    /// @notice Moves `amount` of `token` from the caller to the sender of this transaction.
    /// @dev `tx.origin` pays the gas and receives the tip. Contracts in between do not matter.
    /// `tx.origin` authorizes nothing. With ERC-4337, `tx.origin` is the bundler, for every
    /// account. With EIP-7645, `tx.origin` would return the caller, which is the vault. The tip
    /// would then stay in the vault. New intents would need another contract.
    /// @param amount In base units of `token`.
    function tip(address token, uint256 amount) external {
        (bool ok, bytes memory answer) = token.call(
            abi.encodeWithSignature(
                "transferFrom(address,address,uint256)", msg.sender, tx.origin, amount
            )
        );
        bool isTaken = answer.length == 0
            ? token.code.length > 0
            : answer.length >= 32 && abi.decode(answer, (uint256)) == 1;
        if (!ok || !isTaken) revert TipFailed(token, tx.origin, amount);
    }
}

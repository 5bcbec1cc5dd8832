// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @title Tip
/// @notice Pays whoever executes an intent. An intent that wants to carry a tip approves this
/// contract for it and then calls {tip}: two committed calls among its own.
/// @dev No owner, no storage, no code but this. It moves nothing but what its caller approved, and
/// only in a call of that caller, so an approval of one vault is of no use to anybody else.
contract Tip {
    /// @notice `token` did not move `amount` from the caller to `executor`.
    error TipFailed(address token, address executor, uint256 amount);

    /// @notice Moves `amount` of `token` from the caller to the sender of this transaction.
    /// @dev `tx.origin` is whoever pays the gas: the one whom a tip is for, however many contracts
    /// stand between. Nothing is authorised by it. Through a bundler of ERC-4337 it is the bundler,
    /// whatever account asked. Where EIP-7645 makes `tx.origin` the caller, it is the vault itself:
    /// the tip stays there for `recovery`. Then another contract has to take the place of this one:
    /// intents name it, the factory does not.
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

// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

interface ICollected {
    function balanceOf(address account) external view returns (uint256);
}

/// @title Collector
/// @notice Forwards a payment even if it is slightly too low, for example because of a fee. Use it
/// in an intent whose amount is `least`. One call approves this contract for `most`. The next call
/// is {collect}. Money above `most` stays in the vault for `recovery`.
/// @dev The contract has no owner and no storage. The contract keeps no tokens. It moves only its
/// caller's tokens, so nobody else can use a vault's approval. The contract can be replaced,
/// because the factory does not depend on it.
///
/// Assumptions:
/// 1. `transferFrom` takes exactly the requested amount from the caller. If a token takes more, the
///    caller can pay more than `most`. A contract that calls the token cannot prevent this.
/// 2. The recipient must not receive another payment of the token during the transfer. If the token
///    has hooks, the recipient can cause such a payment. Only the recipient then loses money.
contract Collector {
    /// @notice Only `found` base units can be moved: the caller's balance, or `most` if `most` is
    /// lower.
    error TooLittle(address token, uint256 least, uint256 found);
    /// @notice Only `found` base units arrived. The token may keep a fee, or the recipient may be
    /// the caller.
    error TooLittleArrived(address token, address recipient, uint256 least, uint256 found);
    /// @notice `token` did not move `amount` from the caller to `recipient`.
    error CollectFailed(address token, address recipient, uint256 amount);
    /// @notice `token` did not return a 32-byte word for `balanceOf(holder)`.
    error BalanceUnknown(address token, address holder);

    /// @notice Moves the caller's balance of `token` to `recipient`, but at most `most` base units.
    /// @dev Reverts unless at least `least` arrives. The caller must have approved this contract.
    /// The recipient must not be this contract, because this contract cannot send its own tokens.
    /// @param least The minimum amount, in base units of `token`. `most` is the maximum amount.
    function collect(address token, address recipient, uint256 least, uint256 most) external {
        uint256 amount = _balanceOf(token, msg.sender);
        if (amount > most) amount = most;
        if (amount < least) revert TooLittle(token, least, amount);
        uint256 before = _balanceOf(token, recipient);

        (bool ok, bytes memory answer) = token.call(
            abi.encodeWithSignature(
                "transferFrom(address,address,uint256)", msg.sender, recipient, amount
            )
        );
        // An empty result means success. `token` has code, because otherwise {_balanceOf} would
        // already have reverted.
        bool isMoved =
            answer.length == 0 || answer.length >= 32 && abi.decode(answer, (uint256)) == 1;
        if (!ok || !isMoved) revert CollectFailed(token, recipient, amount);

        uint256 found = _balanceOf(token, recipient);
        found = found > before ? found - before : 0;
        if (found < least) revert TooLittleArrived(token, recipient, least, found);
    }

    function _balanceOf(address token, address holder) private view returns (uint256) {
        (bool ok, bytes memory answer) =
            token.staticcall(abi.encodeCall(ICollected.balanceOf, (holder)));
        if (!ok || answer.length < 32) revert BalanceUnknown(token, holder);
        return abi.decode(answer, (uint256));
    }
}

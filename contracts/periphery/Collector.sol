// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

interface ICollected {
    function balanceOf(address account) external view returns (uint256);
}

/// @title Collector
/// @notice Forwards a payment that can be a little short, for example by an exchange's fee. An
/// intent whose amount is `least` approves this contract for `most` and then calls {collect}: two
/// committed calls among its own. What exceeds `most` stays in the vault for `recovery`.
/// @dev No owner and no storage. It moves only the caller's own tokens and keeps none, so an
/// approval of one vault is of no use to anyone else. It can be replaced: an intent names the
/// contract that it calls, the factory does not.
///
/// Assumptions:
/// 1. `transferFrom` takes exactly the requested amount from the caller. A token that takes more
///    breaks the bound `most`, and no contract in front of it can prevent that.
/// 2. During the transfer nothing else pays the recipient. A token with hooks lets the recipient
///    arrange such a payment, but only at its own expense.
contract Collector {
    /// @notice The caller has `found` base units, or more if `most` is below `least`.
    error TooLittle(address token, uint256 least, uint256 found);
    /// @notice Only `found` base units arrived: the token keeps a fee, or the recipient is the
    /// caller itself.
    error TooLittleArrived(address token, address recipient, uint256 least, uint256 found);
    /// @notice `token` did not move `amount` from the caller to `recipient`.
    error CollectFailed(address token, address recipient, uint256 amount);
    /// @notice `token` did not answer `balanceOf(holder)` with a word.
    error BalanceUnknown(address token, address holder);

    /// @notice Moves the caller's whole balance of `token`, at most `most`, to `recipient`.
    /// @dev Reverts unless at least `least` arrives. The caller must have approved this contract.
    /// The recipient must not be this contract: nothing can move tokens that it has.
    /// @param least In base units of `token`, as `most`.
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
        // A contract without code answers nothing too, but it has not answered balanceOf.
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

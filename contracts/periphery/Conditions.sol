// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Fate, Outcome} from "./Outcome.sol";

/// @title Conditions
/// @notice Lets an intent require, in one of its own calls, that another intent was executed or
/// closed.
/// @dev `vault` is an argument of a call in the intent, so the intent's creator chooses the
/// address and must make sure that it is a vault ({Outcome}). The contract has no owner and no
/// storage. The contract can be replaced, because an intent names the contracts that it calls.
contract Conditions {
    /// @notice `vault` was not executed; its outcome is `found`.
    error NotExecuted(address vault, Fate found);
    /// @notice `vault` was not closed; its outcome is `found`.
    error NotClosed(address vault, Fate found);

    /// @notice Reverts unless the calls of the intent at `vault` ran on this chain.
    function requireExecuted(address vault) external view {
        Fate found = Outcome.outcomeOf(vault);
        if (found != Fate.Executed) revert NotExecuted(vault, found);
    }

    /// @notice Reverts unless the intent at `vault` was closed on this chain without running.
    /// @dev An expired intent is not closed until someone calls `recover`. Anyone can call
    /// `recover`, even if the vault has no money. On this chain, anyone can close an intent of
    /// another chain at any time, regardless of its outcome on its own chain. So `vault` must
    /// belong to an intent of this chain.
    function requireClosed(address vault) external view {
        Fate found = Outcome.outcomeOf(vault);
        if (found != Fate.Closed) revert NotClosed(vault, found);
    }
}

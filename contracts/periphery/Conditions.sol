// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Fate, Outcome} from "./Outcome.sol";

/// @title Conditions
/// @notice Lets an intent run only after another one ran, or only after another one was closed,
/// with one of its own calls.
/// @dev `vault` is named when the intent is made, so its creator has derived that address. No owner
/// and no storage. It can be replaced, because an intent names the contract that it calls.
contract Conditions {
    /// @notice `vault` was not executed; its outcome is `found`.
    error NotExecuted(address vault, Fate found);
    /// @notice `vault` was not closed; its outcome is `found`.
    error NotClosed(address vault, Fate found);

    /// @notice Passes only if the calls of the intent at `vault` ran on this chain.
    function requireExecuted(address vault) external view {
        Fate found = Outcome.outcomeOf(vault);
        if (found != Fate.Executed) revert NotExecuted(vault, found);
    }

    /// @notice Passes only if the intent at `vault` was closed on this chain without running.
    /// @dev Expiry is not enough: someone must call `recover`, which anyone can do, even if there
    /// is no money. An intent of another chain can be closed here at any time, regardless of its
    /// outcome there, so `vault` must belong to an intent of this chain.
    function requireClosed(address vault) external view {
        Fate found = Outcome.outcomeOf(vault);
        if (found != Fate.Closed) revert NotClosed(vault, found);
    }
}

// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Fate, Outcome} from "./Outcome.sol";

/// @title Conditions
/// @notice Lets an intent run only after another one ran, or only after another one was closed:
/// one call among its own.
/// @dev `vault` is named when the intent is made, so whoever makes it has derived that address.
/// No owner and no storage. It can be replaced: an intent names the contract that it calls.
contract Conditions {
    /// @notice `vault` has not executed: what became of it is `found`.
    error NotExecuted(address vault, Fate found);
    /// @notice `vault` was not closed: what became of it is `found`.
    error NotClosed(address vault, Fate found);

    /// @notice Passes only if the calls of the intent at `vault` ran on this chain.
    function requireExecuted(address vault) external view {
        Fate found = Outcome.outcomeOf(vault);
        if (found != Fate.Executed) revert NotExecuted(vault, found);
    }

    /// @notice Passes only if the intent at `vault` was closed on this chain without running.
    /// @dev That an intent expired is not enough: somebody has to `recover` it, even with no money
    /// there. Anyone may. An intent of another chain can be closed here at once, whatever becomes
    /// of it there: `vault` must be of an intent of this chain.
    function requireClosed(address vault) external view {
        Fate found = Outcome.outcomeOf(vault);
        if (found != Fate.Closed) revert NotClosed(vault, found);
    }
}

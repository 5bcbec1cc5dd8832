// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Fate, Outcome} from "./Outcome.sol";

/// @title Conditions
/// @notice Lets a call of an intent require that another intent was executed or closed.
/// @dev The creator of an intent chooses `vault`. `vault` must be the address of a vault
/// ({Outcome}). The contract has no owner and no storage. Each intent names its targets, so a new
/// intent can use a replacement of this contract.
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

    /// @notice Reverts unless the intent at `vault` was closed on this chain. The calls of a closed
    /// intent did not run on this chain, and never will.
    /// @dev An expired intent is not closed until someone calls `recover`. Anyone can call
    /// `recover`, even if the vault has no money. `vault` must belong to an intent of this chain.
    /// On this chain, anyone can close the vault of another chain's intent at any time. The calls
    /// may have run on the other chain.
    function requireClosed(address vault) external view {
        Fate found = Outcome.outcomeOf(vault);
        if (found != Fate.Closed) revert NotClosed(vault, found);
    }
}

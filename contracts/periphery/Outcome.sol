// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {CLOSED_CODE_HASH, EXECUTED_CODE_HASH} from "./VaultCode.sol";

/// @notice What became of an intent, as the code at its vault tells.
/// `Never`: neither, up to now. Before the intent expires that is no answer for good.
/// `Executed`: its calls ran, once. `Closed`: on this chain they did not and never can.
/// The last two are permanent, and their code hashes are the same on every chain. But only the
/// intent's own chain decides: on any other one, anybody can close its vault at any time, also
/// while the intent is open, or after it was executed, on its own chain.
enum Fate {
    Never,
    Executed,
    Closed
}

/// @title Outcome
/// @notice Reads the outcome of an intent from its vault, without any log, oracle or service.
/// @dev Nobody but the factory puts code with one of these two hashes at a vault, and none can be
/// changed or removed. At other addresses a hash proves nothing: anybody may deploy the same bytes.
/// So `vault` must be an address that the factory's `addressOf` names, or that a caller was told
/// to trust. A vault that its own calls ask about is still being created: `Never`.
library Outcome {
    /// @return fate one EXTCODEHASH: 2,600 gas where the transaction has not touched `vault`
    function outcomeOf(address vault) internal view returns (Fate fate) {
        return fateOf(vault.codehash);
    }

    function fateOf(bytes32 codeHash) internal pure returns (Fate fate) {
        if (codeHash == EXECUTED_CODE_HASH) return Fate.Executed;
        if (codeHash == CLOSED_CODE_HASH) return Fate.Closed;
    }
}

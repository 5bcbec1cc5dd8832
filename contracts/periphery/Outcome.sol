// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {CLOSED_CODE_HASH, EXECUTED_CODE_HASH} from "./VaultCode.sol";

/// @notice The outcome of an intent, as shown by the code at its vault. `Never`: there is no
/// outcome yet. Until the intent expires, its calls can still run. After the expiry, the vault can
/// still be closed. `Executed`: the calls of the intent ran, exactly once. `Closed`: on this chain,
/// the calls did not run and can never run. `Executed` and `Closed` are permanent, and their code
/// hashes are the same on every chain. Only the outcome on the intent's own chain counts. On any
/// other chain, anyone can close the vault at any time. Such a closed vault says nothing about the
/// outcome on the intent's own chain.
enum Fate {
    Never,
    Executed,
    Closed
}

/// @title Outcome
/// @notice Reads the outcome of an intent from its vault. No log, oracle, or service is needed.
/// @dev At a vault's address, only the factory can deploy code with one of the two known hashes.
/// The code is permanent. At any other address, the hash proves nothing, because anyone can deploy
/// the same bytes. So `vault` must be a result of the factory's `addressOf`, or another address
/// that the caller trusts. During its own calls, a vault is still being created, so the outcome is
/// `Never`.
library Outcome {
    /// @dev Uses one EXTCODEHASH, which costs 2,600 gas if the transaction has not accessed `vault`
    /// before.
    function outcomeOf(address vault) internal view returns (Fate fate) {
        return fateOf(vault.codehash);
    }

    function fateOf(bytes32 codeHash) internal pure returns (Fate fate) {
        if (codeHash == EXECUTED_CODE_HASH) return Fate.Executed;
        if (codeHash == CLOSED_CODE_HASH) return Fate.Closed;
    }
}

// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Intent, IPaymentFactory} from "../src/IPaymentFactory.sol";
import {FACTORY} from "./VaultCode.sol";

/// @title ExecutableCaller
/// @notice A base for targets that act only for the intent they mean: their caller has to be the
/// vault of an intent that the target rebuilds, call by call, from its own arguments. Then nothing
/// but those calls ran before this one, and nothing but the rest of them can follow.
/// @dev How the target uses it:
///
/// - It writes every field of the intent itself, from its arguments and what it knows. An intent
///   that came as an argument of the caller proves nothing: everybody has a vault of some intent.
/// - The caller must have no code, which {_onlyVaultOf} checks. THE TRAP: when a vault is over, its
///   `recovery` may make any call from it by `rescue`, this one too. The same address then speaks
///   without the rest of its calls. During its calls a vault has no code yet, afterwards always.
/// - Arguments that the calls carry cannot include the call's own encoding, so the target takes
///   the fields one by one and encodes the call that it is in the middle of.
abstract contract ExecutableCaller {
    /// @notice The caller is not the vault of the intent that the target expects.
    error NotVaultOfIntent(address wanted, address found);
    /// @notice The caller is the vault, but it is over: this is a rescue of its `recovery`.
    error NotWithinExecution(address vault);

    /// @param intent as the target rebuilt it; its encoding is the standard one
    function _onlyVaultOf(Intent memory intent) internal view {
        address vault = IPaymentFactory(FACTORY).addressOf(intent);
        if (msg.sender != vault) revert NotVaultOfIntent(vault, msg.sender);
        if (vault.code.length != 0) revert NotWithinExecution(vault);
    }
}

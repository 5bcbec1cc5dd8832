// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Intent, IPaymentFactory} from "../src/IPaymentFactory.sol";
import {FACTORY} from "./VaultCode.sol";

/// @title ExecutableCaller
/// @notice A base for targets that act only for an expected intent. The target rebuilds the
/// intent, call by call, from its own arguments, and accepts only the intent's vault as caller. So
/// during the execution, the vault has made only the intent's earlier calls before this call, and
/// can make only the intent's later calls after it.
/// @dev How a target uses this contract:
///
/// - The target sets every field of the intent itself, from its arguments and its own data. An
///   intent that the caller passes as an argument proves nothing, because everyone has a vault of
///   some intent.
/// - The caller must have no code, which {_onlyVaultOf} checks. THE TRAP: after a vault was
///   executed or closed, its `recovery` can make any call from the vault with `rescue`, including a
///   call to this target, without the intent's other calls. A vault has no code during its calls,
///   and always has code afterwards.
/// - The arguments of a call cannot include the call's own encoding, so the target takes the fields
///   one by one and encodes the current call itself.
abstract contract ExecutableCaller {
    /// @notice The target expects a call from the vault of an intent (`wanted`), but another
    /// address called it (`found`).
    error NotVaultOfIntent(address wanted, address found);
    /// @notice The caller is the vault, but the vault was already executed or closed: this call is
    /// a `rescue` by its `recovery`.
    error NotWithinExecution(address vault);

    /// @param intent as the target rebuilt it, in the standard encoding
    function _onlyVaultOf(Intent memory intent) internal view {
        address vault = IPaymentFactory(FACTORY).addressOf(intent);
        if (msg.sender != vault) revert NotVaultOfIntent(vault, msg.sender);
        if (vault.code.length != 0) revert NotWithinExecution(vault);
    }
}

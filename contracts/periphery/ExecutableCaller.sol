// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Intent, IPaymentFactory} from "../src/IPaymentFactory.sol";
import {FACTORY} from "./VaultCode.sol";

/// @title ExecutableCaller
/// @notice A base for targets that act only for an expected intent. The target rebuilds the intent
/// from its own arguments, and accepts only the intent's vault as caller. The target therefore
/// knows all calls that the vault makes before and after this call.
/// @dev How a target uses this contract:
///
/// - The target itself sets every field of the intent, from the target's arguments and data. An
///   intent that the caller passes as an argument proves nothing. Anyone can create an intent whose
///   vault calls the target.
/// - {_onlyVaultOf} checks that the caller has no code. A vault has no code during its calls, but
///   has code afterwards. Without the check, `recovery` could call the target later with `rescue`.
///   The vault would then not make the intent's other calls.
/// - A call cannot contain its own encoding as an argument. The target therefore takes the intent's
///   fields one by one, and encodes the current call itself.
abstract contract ExecutableCaller {
    /// @notice The caller (`found`) is not the vault of the expected intent (`wanted`).
    error NotVaultOfIntent(address wanted, address found);
    /// @notice The caller is the intent's vault, but the vault was already executed or closed. The
    /// intent's `recovery` made this call with `rescue`.
    error NotWithinExecution(address vault);

    /// @param intent the intent that the target rebuilt
    function _onlyVaultOf(Intent memory intent) internal view {
        address vault = IPaymentFactory(FACTORY).addressOf(intent);
        if (msg.sender != vault) revert NotVaultOfIntent(vault, msg.sender);
        if (vault.code.length != 0) revert NotWithinExecution(vault);
    }
}

// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Intent, IPaymentFactory} from "./IPaymentFactory.sol";
import {IERC20, Vault} from "./Vault.sol";

/// @notice Creates vaults, and speaks to them. What each function promises stands in the interface.
contract PaymentFactory is IPaymentFactory, Vault {
    /// @dev Fits {CallFailed} with its reason at full length.
    uint256 private constant REASON_BYTES_MAX = 5 * 32 + RESULT_BYTES_MAX;

    /// @inheritdoc IPaymentFactory
    function execute(Intent calldata intent) external returns (address vault) {
        bytes memory initCode = _initCode(_start(intent), msg.data.length);
        vault = _addressOf(initCode);
        // Creating it again would fail as well, but burn all the gas.
        if (vault.code.length != 0) revert AlreadyOver(vault);
        if (intent.chainId != block.chainid) revert WrongChain(intent.chainId, block.chainid);
        if (!_isOpen(intent)) revert Expired(intent.expirationTimestamp, block.timestamp);
        (, uint256 held) = _balanceOf(intent.token, vault);
        if (held < intent.amount) revert Underfunded(vault, intent.amount, held);

        _create(vault, initCode);

        (, uint256 left) = _balanceOf(intent.token, vault);
        emit Executed(vault, intent.token, held, left);
    }

    /// @inheritdoc IPaymentFactory
    function executeBatch(Intent[] calldata intents) external returns (address[] memory vaults) {
        uint256 count = intents.length;
        vaults = new address[](count);
        for (uint256 i = 0; i < count; ++i) {
            uint256 start = _start(intents[i]);
            uint256 end = i + 1 < count ? _start(intents[i + 1]) : msg.data.length;
            // A call of its own undoes all of an item that fails; an equal share of the gas left
            // keeps an item that burns all it gets from starving those after it.
            (bool ok, bytes memory reason) = _executeAlone(start, end, gasleft() / (count - i));
            address vault = _addressOf(_initCode(start, end));
            if (ok) vaults[i] = vault;
            else emit ExecutionFailed(vault, reason);
        }
    }

    /// @inheritdoc IPaymentFactory
    function recover(Intent calldata intent, address[] calldata tokens)
        external
        returns (address vault)
    {
        uint256 end;
        assembly ("memory-safe") {
            end := sub(tokens.offset, 32)
        }
        vault = _settle(intent, end);
        for (uint256 i = 0; i < tokens.length; ++i) {
            _sweep(vault, tokens[i], intent.recovery);
        }
    }

    /// @inheritdoc IPaymentFactory
    function rescue(Intent calldata intent, address target, uint256 value, bytes calldata data)
        external
        returns (bytes memory result)
    {
        if (msg.sender != intent.recovery) revert NotRecovery(intent.recovery, msg.sender);
        uint256 end;
        assembly ("memory-safe") {
            end := sub(data.offset, 32)
        }
        address vault = _settle(intent, end);
        bool ok;
        (ok, result) = _ask(vault, target, value, data);
        if (!ok) revert CallFailed(0, target, result);
    }

    /// @inheritdoc IPaymentFactory
    function addressOf(Intent calldata intent) external view returns (address vault) {
        return _addressOf(_initCode(_start(intent), msg.data.length));
    }

    /// @inheritdoc IPaymentFactory
    function addressOf(bytes calldata terms) external view returns (address vault) {
        return _addressOf(bytes.concat(PREFIX, terms));
    }

    /// @dev {execute} for one item, given `gasMax`.
    function _executeAlone(uint256 start, uint256 end, uint256 gasMax)
        private
        returns (bool ok, bytes memory reason)
    {
        bytes memory input =
            abi.encodePacked(this.execute.selector, uint256(32), msg.data[start:end]);
        assembly ("memory-safe") {
            ok := call(gasMax, address(), 0, add(input, 32), mload(input), 0, 0)
        }
        if (!ok) reason = _returned(REASON_BYTES_MAX);
    }

    /// @dev The vault, its life over: it is so already, or it is closed, and made so without calls.
    /// @param end where the intent's encoding ends in the calldata
    function _settle(Intent calldata intent, uint256 end) private returns (address vault) {
        bytes memory initCode = _initCode(_start(intent), end);
        vault = _addressOf(initCode);
        if (vault.code.length != 0) return vault;
        if (_isOpen(intent)) {
            revert NotRecoverable(vault, intent.expirationTimestamp, block.timestamp);
        }
        _create(vault, initCode);
    }

    /// @dev Sends all of one token (zero: native coin) to `recovery`. Never reverts for the token.
    /// The amount is measured, so that neither fees nor lies of a transfer are taken at their word.
    function _sweep(address vault, address token, address recovery) private {
        bool native = token == address(0);
        (bool known, uint256 held) = native ? (true, vault.balance) : _balanceOf(token, vault);
        if (known && held == 0) return;
        bool ok;
        bytes memory reason;
        if (known) {
            (ok, reason) = native
                ? _ask(vault, recovery, held, "")
                : _ask(vault, token, 0, abi.encodeCall(IERC20.transfer, (recovery, held)));
        }
        uint256 left;
        if (ok) (ok, left) = native ? (true, vault.balance) : _balanceOf(token, vault);
        if (ok && left < held) emit Recovered(vault, token, held - left);
        else emit RecoveryFailed(vault, token, reason);
    }

    /// @dev Fails with the vault's own reason. Without one it ran out of gas, or its calls asked
    /// for its own execution: an address that is being created cannot be created.
    function _create(address vault, bytes memory initCode) private {
        address created;
        assembly ("memory-safe") {
            created := create2(0, add(initCode, 32), mload(initCode), 0)
            if and(iszero(created), gt(returndatasize(), 0)) {
                let reason := mload(0x40)
                returndatacopy(reason, 0, returndatasize())
                revert(reason, returndatasize())
            }
        }
        if (created != vault) revert CreationFailed(vault);
    }

    /// @dev `known` is false where the token has no code, reverts or answers short of a word.
    function _balanceOf(address token, address vault)
        private
        view
        returns (bool known, uint256 found)
    {
        bytes memory input = abi.encodeCall(IERC20.balanceOf, (vault));
        assembly ("memory-safe") {
            known := staticcall(gas(), token, add(input, 32), mload(input), 0, 32)
            known := and(known, gt(returndatasize(), 31))
            if known { found := mload(0) }
        }
    }

    /// @dev EIP-1014, with salt zero.
    function _addressOf(bytes memory initCode) private view returns (address vault) {
        bytes32 hash = keccak256(initCode);
        return address(
            uint160(
                uint256(keccak256(abi.encodePacked(bytes1(0xff), FACTORY, bytes32(0), hash)))
            )
        );
    }

    /// @dev The terms are taken from the calldata as they came, from `start` to `end`: encoded in
    /// any other way they belong to another address, which nobody was told to pay.
    function _initCode(uint256 start, uint256 end) private pure returns (bytes memory) {
        return abi.encodePacked(PREFIX, uint256(32), msg.data[start:end]);
    }

    function _start(Intent calldata intent) private pure returns (uint256 start) {
        assembly ("memory-safe") {
            start := intent
        }
    }
}

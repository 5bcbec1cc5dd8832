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
        if (!_isOpen(intent)) {
            if (intent.chainId != block.chainid) revert WrongChain(intent.chainId, block.chainid);
            revert Expired(intent.expirationTimestamp, block.timestamp);
        }
        address token = intent.token;
        uint256 held = _balanceOf(token, vault);
        if (held < intent.amount) revert Underfunded(vault, intent.amount, held);

        _create(vault, initCode);

        uint256 left = _balanceOf(token, vault);
        emit Executed(vault, token, held, left);
    }

    /// @inheritdoc IPaymentFactory
    function executeBatch(Intent[] calldata intents) external returns (address[] memory vaults) {
        uint256 count = intents.length;
        vaults = new address[](count);
        for (uint256 i = 0; i < count; ++i) {
            uint256 start = _start(intents[i]);
            uint256 end = i + 1 < count ? _start(intents[i + 1]) : msg.data.length;
            if (end < start) revert NotCanonical(start, end);
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
        uint256 start = _start(intent);
        if (end < start) revert NotCanonical(start, end);
        bytes memory initCode = _initCode(start, end);
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
        uint256 held = native ? vault.balance : _balanceOf(token, vault);
        if (held == 0) return;

        (bool ok, bytes memory reason) = native
            ? _ask(vault, recovery, held, "")
            : _ask(vault, token, 0, abi.encodeCall(IERC20.transfer, (recovery, held)));

        uint256 left = native ? vault.balance : _balanceOf(token, vault);
        if (ok && left < held) emit Recovered(vault, token, held - left);
        else emit RecoveryFailed(vault, token, reason);
    }

    /// @dev Fails with the vault's own reason. Without one it ran out of gas, or its calls asked
    /// for its own execution: an address that is being created cannot be created.
    function _create(address vault, bytes memory initCode) private {
        address created;
        assembly ("memory-safe") {
            created := create2(0, add(initCode, 32), mload(initCode), 0)
        }
        if (created == vault) return;
        bytes memory reason = _returned(REASON_BYTES_MAX);
        if (reason.length == 0) revert CreationFailed(vault);
        assembly ("memory-safe") {
            revert(add(reason, 32), mload(reason))
        }
    }

    /// @dev Zero where the token has no code, reverts, or answers short of a word.
    function _balanceOf(address token, address vault) private view returns (uint256 found) {
        bytes4 selector = IERC20.balanceOf.selector;
        assembly ("memory-safe") {
            mstore(0, selector)
            mstore(4, vault)
            let ok := staticcall(gas(), token, 0, 36, 0, 32)
            found := mul(mload(0), and(ok, gt(returndatasize(), 31)))
        }
    }

    /// @dev EIP-1014, with salt zero: 0xff, factory, salt, hash of the init code.
    function _addressOf(bytes memory initCode) private view returns (address vault) {
        address factory = FACTORY;
        assembly ("memory-safe") {
            let free := mload(0x40)
            mstore8(free, 0xff)
            mstore(add(free, 1), shl(96, factory))
            mstore(add(free, 21), 0)
            mstore(add(free, 53), keccak256(add(initCode, 32), mload(initCode)))
            vault := and(keccak256(free, 85), sub(shl(160, 1), 1))
        }
    }

    /// @dev The terms are taken from the calldata as they came: from `start` to `end`, behind the
    /// offset 32 that terms begin with. Any other encoding belongs to another address, which nobody
    /// was told to pay. `start` is not beyond `end`.
    function _initCode(uint256 start, uint256 end) private pure returns (bytes memory code) {
        assembly ("memory-safe") {
            let bytesOfIntent := sub(end, start)
            code := mload(0x40)
            mstore(code, add(64, bytesOfIntent))
            mstore(add(code, 32), PREFIX)
            mstore(add(code, 64), 32)
            calldatacopy(add(code, 96), start, bytesOfIntent)
            mstore(0x40, add(add(code, 96), and(add(bytesOfIntent, 31), not(31))))
        }
    }

    function _start(Intent calldata intent) private pure returns (uint256 start) {
        assembly ("memory-safe") {
            start := intent
        }
    }
}

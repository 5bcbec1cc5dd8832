// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Intent, IPaymentFactory} from "./IPaymentFactory.sol";
import {IERC20, Vault} from "./Vault.sol";

/// @notice Creates vaults and calls them. The interface defines what each function promises.
/// @dev Emits events after external calls on purpose: an event reports only observed results.
contract PaymentFactory is IPaymentFactory, Vault {
    uint256 private constant TERMS_BYTES_MAX = 24_576;
    /// @dev The seven words at the start of an intent: everything except the calls themselves.
    uint256 private constant INTENT_BYTES_MIN = 7 * 32;

    /// @dev Has no arguments, because the caller already knows its own address.
    error NotFactory();

    /// @inheritdoc IPaymentFactory
    /// @dev The terms are the calldata after the selector, unchanged. Any other encoding belongs to
    /// a different address, which no payer was asked to pay.
    function execute(Intent calldata intent) external returns (address vault) {
        bytes memory initCode = bytes.concat(PREFIX, msg.data[4:]);
        vault = _addressOf(initCode);
        // Without this check, CREATE2 would fail and burn all the gas.
        if (vault.code.length != 0) {
            // An item of a batch does not fail if its vault was already executed.
            if (msg.sender == address(this) && vault.code.length == EXECUTED_BYTES) return vault;
            revert AlreadyOver(vault);
        }
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
    function recover(Intent calldata intent, address[] calldata tokens)
        external
        returns (address vault)
    {
        // The list of tokens (argument 1) follows the intent, so the intent ends where this list
        // starts.
        vault = _settle(intent, _argument(1));
        for (uint256 i = 0; i < tokens.length; ++i) {
            // Each token is sent in a separate call. If that call fails, only the effects of this
            // token are reverted. Each token gets an equal share of the gas, so no token can starve
            // later tokens.
            uint256 share = gasleft() / (tokens.length - i);
            try this.sweepToken{gas: share}(vault, tokens[i], intent.recovery) {}
            catch (bytes memory reason) {
                emit RecoveryFailed(vault, tokens[i], reason);
            }
        }
    }

    /// @inheritdoc IPaymentFactory
    function batch(bytes[] calldata items) external returns (address[] memory vaults) {
        vaults = new address[](items.length);
        for (uint256 i = 0; i < items.length; ++i) {
            // Each item gets a separate call with a share of the gas, as in {recover}.
            uint256 share = gasleft() / (items.length - i);
            (bool ok, bytes memory answer) = _doItem(items[i], share);
            if (ok) vaults[i] = abi.decode(answer, (address));
            else emit ItemFailed(msg.sender, i, answer);
        }
    }

    /// @inheritdoc IPaymentFactory
    function rescue(Intent calldata intent, address target, uint256 value, bytes calldata data)
        external
        returns (bytes memory result)
    {
        if (msg.sender != intent.recovery) revert NotRecovery(intent.recovery, msg.sender);
        // The data (argument 3) follows the intent, so the intent ends where the data starts.
        address vault = _settle(intent, _argument(3));
        bool ok;
        (ok, result) = Vault(vault).act(target, value, data);
        if (!ok) revert CallFailed(0, target, result);
    }

    /// @inheritdoc IPaymentFactory
    /// @dev Reverts unless the terms start with the offset 32, which {_settle} always writes.
    /// Without this check, the function could return an address whose money can never be recovered.
    function addressOf(Intent calldata intent) external view returns (address vault) {
        uint256 start = _argument(0);
        if (start != 4 + 32) revert NotCanonical(start, msg.data.length);
        // Reading these fields reverts if a value does not fit its type. Money at the address of
        // such an intent could never be recovered.
        (intent.expirationTimestamp, intent.recovery);
        return _quote(msg.data[4:]);
    }

    /// @inheritdoc IPaymentFactory
    function addressOf(bytes calldata terms) external view returns (address vault) {
        return _quote(terms);
    }

    /// @notice Sends the whole balance of one token to `recovery`. The zero address means native
    /// coin. Only the factory itself can call this function.
    /// @dev Measures the amount, because a token can take a fee or report a false result. If a
    /// transfer returns false, emits {RecoveryFailed} even if the vault's balance fell. A hook may
    /// have recovered the token during the transfer and already emitted {Recovered}.
    function sweepToken(address vault, address token, address recovery) external {
        if (msg.sender != address(this)) revert NotFactory();
        bool native = token == address(0);
        uint256 held = native ? vault.balance : _balanceOf(token, vault);
        if (held == 0) return;

        (bool ok, bytes memory answer) = native
            ? Vault(vault).act(recovery, held, "")
            : Vault(vault).act(token, 0, abi.encodeCall(IERC20.transfer, (recovery, held)));

        uint256 left = native ? vault.balance : _balanceOf(token, vault);
        ok = ok && left < held && (native || _isTrue(answer.length, bytes32(answer)));
        if (ok) emit Recovered(vault, token, held - left);
        else emit RecoveryFailed(vault, token, answer);
    }

    /// @dev Returns the whole result. It is short, because it is the factory's own result or error.
    function _doItem(bytes calldata item, uint256 gasMax)
        private
        returns (bool ok, bytes memory answer)
    {
        bytes4 selector = bytes4(item);
        if (selector == this.execute.selector || selector == this.recover.selector) {
            return address(this).call{gas: gasMax}(item);
        }
        return (false, abi.encodeWithSelector(NotAnItem.selector, selector));
    }

    /// @dev Returns the vault if it already has code. Otherwise closes the vault without running
    /// its calls, or reverts if the vault is still open. The vault's terms are a word with the
    /// value 32 (the offset), followed by the calldata from the intent's start to `end`. The caller
    /// can choose the words after `end`. The seven words at the start of the intent must therefore
    /// be before `end`.
    function _settle(Intent calldata intent, uint256 end) private returns (address vault) {
        uint256 start = _argument(0);
        if (end < start + INTENT_BYTES_MIN) revert NotCanonical(start, end);
        bytes memory initCode = bytes.concat(PREFIX, bytes32(uint256(32)), msg.data[start:end]);
        vault = _addressOf(initCode);
        if (vault.code.length != 0) return vault;
        if (_isOpen(intent)) {
            revert NotRecoverable(vault, intent.expirationTimestamp, block.timestamp);
        }
        _create(vault, initCode);
        emit Closed(vault);
    }

    /// @dev Reverts with the vault's own reason, if there is one. The reason is empty if the vault
    /// ran out of gas, or if the terms do not encode calls. It is also empty if the intent's calls
    /// execute the intent itself. The factory cannot create the vault twice.
    function _create(address vault, bytes memory initCode) private {
        address created;
        // Without assembly, Solidity can neither deploy given bytes nor revert with given data.
        assembly ("memory-safe") {
            created := create2(0, add(initCode, 32), mload(initCode), 0)
            if returndatasize() {
                let reason := mload(0x40)
                returndatacopy(reason, 0, returndatasize())
                revert(reason, returndatasize())
            }
        }
        if (created != vault) revert CreationFailed(vault);
    }

    /// @dev Reverts if the result is shorter than a word, for example if `token` is a vault.
    function _balanceOf(address token, address vault) private view returns (uint256 found) {
        bytes4 selector = IERC20.balanceOf.selector;
        bool ok;
        // The input and the result fit into the scratch space. Solidity would allocate memory, and
        // an execution would cost 1,008 gas more (bench/bench.ts, row _balanceOf).
        assembly ("memory-safe") {
            mstore(0, selector)
            mstore(4, vault)
            ok := staticcall(gas(), token, 0, 36, 0, 32)
            ok := and(ok, gt(returndatasize(), 31))
            found := mload(0)
        }
        if (!ok) revert BalanceUnknown(token, vault);
    }

    function _quote(bytes calldata terms) private view returns (address vault) {
        if (terms.length > TERMS_BYTES_MAX) revert TermsTooLong(TERMS_BYTES_MAX, terms.length);
        return _addressOf(bytes.concat(PREFIX, terms));
    }

    /// @dev Hashes 0xff, the factory, the salt zero, and the hash of the init code (EIP-1014).
    function _addressOf(bytes memory initCode) private view returns (address vault) {
        bytes32 hash;
        // Assembly saves 146 gas per execution, compared with abi.encodePacked (bench/bench.ts, row
        // _addressOf).
        assembly ("memory-safe") {
            let free := mload(0x40)
            mstore(free, or(shl(248, 0xff), shl(88, address())))
            mstore(add(free, 32), 0)
            mstore(add(free, 53), keccak256(add(initCode, 32), mload(initCode)))
            hash := keccak256(free, 85)
        }
        return address(uint160(uint256(hash)));
    }

    /// @dev Returns the byte position in the calldata of the argument with the number `index`. The
    /// head of this argument must be an offset.
    function _argument(uint256 index) private pure returns (uint256 start) {
        return 4 + uint256(bytes32(msg.data[4 + 32 * index:]));
    }
}

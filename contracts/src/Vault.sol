// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Call, Intent, IPaymentFactory} from "./IPaymentFactory.sol";

interface IERC20 {
    function balanceOf(address account) external view returns (uint256);
    function transfer(address to, uint256 amount) external returns (bool);
    function transferFrom(address from, address to, uint256 amount) external returns (bool);
    function approve(address spender, uint256 amount) external returns (bool);
}

/// @notice What runs inside a vault: its constructor, and what its code does for ever after.
/// @dev This code lives in the factory, and a vault borrows it by DELEGATECALL. It serves only a
/// vault (`address(this)` is not the factory) that the factory itself called or creates.
abstract contract Vault {
    /// @dev Constructor code of every vault: DELEGATECALLs its creator with the terms behind it,
    /// then deploys, or reverts with, what the creator's code answered.
    ///
    ///     PUSH0 PUSH0                                   answer: to nowhere yet
    ///     PUSH1 28 CODESIZE SUB                         bytes of terms
    ///     DUP1 PUSH1 28 PUSH0 CODECOPY                  terms to memory 0
    ///     PUSH0 CALLER GAS DELEGATECALL                 ask with the terms
    ///     RETURNDATASIZE PUSH0 PUSH0 RETURNDATACOPY     answer to memory 0
    ///     PUSH0 RETURNDATASIZE SWAP2 PUSH1 26 JUMPI     if it succeeded: to the end
    ///     REVERT JUMPDEST RETURN
    bytes28 internal constant PREFIX = hex"5f5f601c380380601c5f395f335af43d5f5f3e5f3d91601a57fd5bf3";

    /// @dev What stays at the address, the factory's address between the halves: DELEGATECALLs the
    /// factory when the factory calls; takes native coin and does nothing when anyone else does.
    /// Each byte costs every execution 200 gas, hence its one oddity: the answer is as long as the
    /// question (so {_ask} pads the question), or empty when the code failed.
    ///
    ///     CALLER PUSH20 factory XOR PUSH1 41 JUMPI      a stranger: to the end
    ///     CALLDATASIZE PUSH0 PUSH0 CALLDATACOPY         question to memory 0
    ///     CALLDATASIZE PUSH0                            answer over it
    ///     CALLDATASIZE PUSH0 CALLER GAS DELEGATECALL    ask
    ///     CALLDATASIZE MUL PUSH0 RETURN                 all of it, or nothing
    ///     JUMPDEST
    bytes2 private constant STUB_HEAD = hex"3373";
    bytes20 private constant STUB_TAIL = hex"18602957365f5f37365f365f335af436025ff35b";
    uint256 private constant STUB_BYTES = 42;

    /// @dev Of what a target answers only so much is copied. Fits an `Error(string)` of 188 bytes.
    uint256 internal constant RESULT_BYTES_MAX = 256;
    /// @dev What {act} answers at most: flag, offset, length, result.
    uint256 private constant ANSWER_BYTES_MAX = 3 * 32 + RESULT_BYTES_MAX;

    address internal immutable FACTORY = address(this);

    error NotVault();

    modifier onlyVault() {
        if (address(this) == FACTORY || msg.sender != FACTORY) revert NotVault();
        _;
    }

    /// @dev The constructor of a vault, asked with its terms; they start with 32, so no selector
    /// meets them. Whether to run the calls is decided here, from the terms and the chain alone.
    fallback() external onlyVault {
        if (address(this).code.length != 0) revert NotVault();
        Intent calldata intent;
        assembly ("memory-safe") {
            intent := 32
        }
        if (_isOpen(intent)) _run(intent.calls);

        bytes memory stub = abi.encodePacked(STUB_HEAD, FACTORY, STUB_TAIL);
        assembly ("memory-safe") {
            return(add(stub, 32), STUB_BYTES)
        }
    }

    /// @notice Internal protocol: a call from a vault that is over. Never reverts for the target.
    function act(address target, uint256 value, bytes calldata data)
        external
        onlyVault
        returns (bool ok, bytes memory result)
    {
        bytes memory input = data;
        assembly ("memory-safe") {
            ok := call(gas(), target, value, add(input, 32), mload(input), 0, 0)
        }
        result = _returned(RESULT_BYTES_MAX);
    }

    /// @dev Has `vault`, which is over, make a call. A vault that ran out of gas answers nothing.
    function _ask(address vault, address target, uint256 value, bytes memory data)
        internal
        returns (bool ok, bytes memory result)
    {
        bytes memory question = bytes.concat(
            abi.encodeCall(this.act, (target, value, data)), new bytes(ANSWER_BYTES_MAX)
        );
        (, bytes memory answer) = vault.call(question);
        if (answer.length != 0) (ok, result) = abi.decode(answer, (bool, bytes));
    }

    /// @dev Open until the end of the second `expirationTimestamp`, and only on its own chain.
    function _isOpen(Intent calldata intent) internal view returns (bool) {
        return intent.chainId == block.chainid && block.timestamp <= intent.expirationTimestamp;
    }

    /// @dev What the last call returned, cut at `bytesMax`.
    function _returned(uint256 bytesMax) internal pure returns (bytes memory data) {
        assembly ("memory-safe") {
            let size := returndatasize()
            if gt(size, bytesMax) { size := bytesMax }
            data := mload(0x40)
            mstore(data, size)
            returndatacopy(add(data, 32), 0, size)
            mstore(0x40, and(add(add(data, size), 63), not(31)))
        }
    }

    function _run(Call[] calldata calls) private {
        for (uint256 i = 0; i < calls.length; ++i) {
            Call calldata item = calls[i];
            address target = item.target;
            // The selector is made from the signature people are shown, so no other can run.
            bytes4 selector = bytes4(keccak256(bytes(item.signature)));
            bytes calldata args = item.args;
            bool ok;
            bool answered;
            bool isTrue;
            assembly ("memory-safe") {
                let input := mload(0x40)
                mstore(input, selector)
                calldatacopy(add(input, 4), args.offset, args.length)
                ok := call(gas(), target, 0, input, add(args.length, 4), 0, 32)
                answered := gt(returndatasize(), 0)
                isTrue := and(gt(returndatasize(), 31), eq(mload(0), 1))
            }
            if (!ok) revert IPaymentFactory.CallFailed(i, target, _returned(RESULT_BYTES_MAX));
            if (!answered) {
                if (target.code.length == 0) revert IPaymentFactory.NoCode(i, target);
            } else if (!isTrue && _answersTrue(selector)) {
                revert IPaymentFactory.CallFailed(i, target, _returned(RESULT_BYTES_MAX));
            }
        }
    }

    /// @dev ERC-20's own functions may say that they failed instead of reverting.
    function _answersTrue(bytes4 selector) private pure returns (bool) {
        return selector == IERC20.transfer.selector || selector == IERC20.approve.selector
            || selector == IERC20.transferFrom.selector;
    }
}

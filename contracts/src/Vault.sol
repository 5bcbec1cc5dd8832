// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Intent, IPaymentFactory} from "./IPaymentFactory.sol";

interface IERC20 {
    function balanceOf(address account) external view returns (uint256);
    function transfer(address to, uint256 amount) external returns (bool);
}

/// @notice What runs inside a vault: its constructor, and what its code does for ever after.
/// @dev This code lives in the factory, and a vault borrows it by DELEGATECALL. It serves only a
/// vault (`address(this)` is not the factory) that the factory itself called or creates.
abstract contract Vault {
    /// @dev Init code of a vault up to its terms. 28 bytes of code, which DELEGATECALL the creator
    /// with all that follows them and deploy, or revert with, what its code answered; then the four
    /// of {onConstruct}, so that they and the terms are a call of it.
    ///
    ///     PUSH0 PUSH0                                   answer: to nowhere yet
    ///     PUSH1 28 CODESIZE SUB                         bytes of the question
    ///     DUP1 PUSH1 28 PUSH0 CODECOPY                  question to memory 0
    ///     PUSH0 CALLER GAS DELEGATECALL                 ask
    ///     RETURNDATASIZE PUSH0 PUSH0 RETURNDATACOPY     answer to memory 0
    ///     PUSH0 RETURNDATASIZE SWAP2 PUSH1 26 JUMPI     if it succeeded: to the end
    ///     REVERT JUMPDEST RETURN
    bytes32 internal constant PREFIX =
        hex"5f5f601c380380601c5f395f335af43d5f5f3e5f3d91601a57fd5bf30b8a44d9";

    /// @dev What stays at the address, the factory's address between the halves: DELEGATECALLs the
    /// factory when the factory calls; takes native coin and does nothing when anyone else does.
    /// Each byte costs every execution 200 gas, hence its one oddity: the answer is written over
    /// the question, and is as long. {_ask} says what follows from that.
    ///
    ///     CALLER PUSH20 factory XOR PUSH1 40 JUMPI      a stranger: to the end
    ///     CALLDATASIZE PUSH0 PUSH0 CALLDATACOPY         question to memory 0
    ///     CALLDATASIZE PUSH0                            answer over it
    ///     CALLDATASIZE PUSH0 CALLER GAS DELEGATECALL    ask
    ///     CALLDATASIZE PUSH0 RETURN                     both
    ///     JUMPDEST
    ///     STOP                                          only where the calls did not run
    ///
    /// To go on from the end of code is to stop, so the last byte changes nothing but what the code
    /// tells: without it, the calls ran.
    bytes2 private constant STUB_HEAD = hex"3373";
    bytes19 private constant STUB_TAIL = hex"18602857365f5f37365f365f335af4365ff35b";
    uint256 private constant EXECUTED_BYTES = 41;

    /// @dev Of what a target answers only so much is copied. Fits an `Error(string)` of 188 bytes.
    uint256 internal constant RESULT_BYTES_MAX = 256;
    /// @dev What {act} answers at most: flag, offset, length, result.
    uint256 private constant ANSWER_BYTES_MAX = 3 * 32 + RESULT_BYTES_MAX;

    /// @dev How a call can go wrong, where zero is that it did not.
    uint256 private constant FAILED = 1;
    uint256 private constant CODELESS = 2;

    address internal immutable FACTORY = address(this);

    error NotVault();

    modifier onlyVault() {
        address factory = FACTORY;
        bool isVault;
        assembly ("memory-safe") {
            isVault := gt(eq(caller(), factory), eq(address(), factory))
        }
        if (!isVault) revert NotVault();
        _;
    }

    /// @notice Internal protocol: the constructor of a vault. Answers with the code to leave there.
    /// @dev Whether the calls run is decided here, by the terms and the chain alone. Init code has
    /// the intent at byte 36, so it is not declared; the name has a selector that is found first.
    function onConstruct() external onlyVault {
        if (address(this).code.length != 0) revert NotVault();
        Intent calldata intent;
        assembly ("memory-safe") {
            intent := 36
        }
        bool open = _isOpen(intent);
        if (open) _run(intent);

        address factory = FACTORY;
        assembly ("memory-safe") {
            mstore(0, STUB_HEAD)
            mstore(2, shl(96, factory))
            // A whole word: zeros follow the tail, and the first of them is the STOP.
            mstore(22, STUB_TAIL)
            return(0, add(EXECUTED_BYTES, iszero(open)))
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

    /// @dev Has `vault`, which is over, make a call. The question is long enough for any answer to
    /// fit over it, and does not start like one: where it comes back as it was, the code failed.
    function _ask(address vault, address target, uint256 value, bytes memory data)
        internal
        returns (bool ok, bytes memory result)
    {
        bytes memory question = bytes.concat(
            abi.encodeCall(this.act, (target, value, data)), new bytes(ANSWER_BYTES_MAX)
        );
        (bool done, bytes memory answer) = vault.call(question);
        done = done && uint256(bytes32(answer)) <= 1;
        if (done) (ok, result) = abi.decode(answer, (bool, bytes));
    }

    /// @dev Open until the end of the second `expirationTimestamp`, and only on its own chain.
    function _isOpen(Intent calldata intent) internal view returns (bool open) {
        uint256 chainId = intent.chainId;
        assembly ("memory-safe") {
            let late := gt(timestamp(), calldataload(add(intent, 96)))
            open := and(eq(chainId, chainid()), iszero(late))
        }
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

    /// @dev Offsets are followed unchecked, for their gas: beyond the calldata there are zeros.
    /// Terms that lead there encode no intent, so nobody was told to pay their address. A target
    /// that answers has code, or is a precompile, and then nothing happened.
    function _run(Intent calldata intent) private {
        uint256 index;
        address target;
        uint256 outcome;
        assembly ("memory-safe") {
            let calls := add(intent, calldataload(add(intent, 64)))
            let count := calldataload(calls)
            calls := add(calls, 32)
            let input := mload(0x40)
            for {} lt(index, count) { index := add(index, 1) } {
                let item := add(calls, calldataload(add(calls, shl(5, index))))
                target := calldataload(item)

                // Made from the signature people are shown, so that no other function can run.
                let signature := add(item, calldataload(add(item, 32)))
                let bytesOfSignature := calldataload(signature)
                calldatacopy(input, add(signature, 32), bytesOfSignature)
                mstore(input, keccak256(input, bytesOfSignature))

                let args := add(item, calldataload(add(item, 96)))
                let bytesOfArgs := calldataload(args)
                calldatacopy(add(input, 4), add(args, 32), bytesOfArgs)

                if iszero(call(gas(), target, 0, input, add(bytesOfArgs, 4), 0, 32)) {
                    outcome := FAILED
                    break
                }
                if and(gt(returndatasize(), 31), eq(mload(0), 1)) { continue }
                switch returndatasize()
                case 0 {
                    if iszero(extcodesize(target)) {
                        outcome := CODELESS
                        break
                    }
                }
                default {
                    switch shr(224, mload(input))
                    case 0xa9059cbb { outcome := FAILED } // transfer(address,uint256)
                    case 0x095ea7b3 { outcome := FAILED } // approve(address,uint256)
                    case 0x23b872dd { outcome := FAILED } // transferFrom(address,address,uint256)
                    if outcome { break }
                }
            }
        }
        if (outcome == 0) return;
        if (outcome == CODELESS) revert IPaymentFactory.NoCode(index, target);
        revert IPaymentFactory.CallFailed(index, target, _returned(RESULT_BYTES_MAX));
    }
}

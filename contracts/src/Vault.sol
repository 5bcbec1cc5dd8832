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
    /// @dev Init code of a vault up to its terms. 28 bytes of code, which DELEGATECALL the creator
    /// with all that follows them and deploy, or revert with, what its code answered; then the four
    /// of {onCreation}, so that they and the terms are a call of it.
    ///
    ///     PUSH0 PUSH0                                   answer: to nowhere yet
    ///     PUSH1 28 CODESIZE SUB                         bytes of the question
    ///     DUP1 PUSH1 28 PUSH0 CODECOPY                  question to memory 0
    ///     PUSH0 CALLER GAS DELEGATECALL                 ask
    ///     RETURNDATASIZE PUSH0 PUSH0 RETURNDATACOPY     answer to memory 0
    ///     PUSH0 RETURNDATASIZE SWAP2 PUSH1 26 JUMPI     if it succeeded: to the end
    ///     REVERT JUMPDEST RETURN
    bytes32 internal constant PREFIX =
        hex"5f5f601c380380601c5f395f335af43d5f5f3e5f3d91601a57fd5bf302d616e0";

    /// @dev What stays at the address, between the halves the factory's address without its first
    /// four bytes, which are zero: DELEGATECALLs the factory when the factory calls, and answers
    /// with what came back; takes native coin and does nothing when anyone else does. Each byte
    /// costs every execution 200 gas, so a failure comes back as an answer too: {act} fails only
    /// where it ran out of gas, and then nothing came back.
    ///
    ///     CALLER PUSH16 factory XOR PUSH1 40 JUMPI      a stranger: to the end
    ///     CALLDATASIZE PUSH0 PUSH0 CALLDATACOPY         question to memory 0
    ///     PUSH0 PUSH0 CALLDATASIZE PUSH0                answer: to nowhere yet
    ///     CALLER GAS DELEGATECALL                       ask
    ///     RETURNDATASIZE PUSH0 PUSH0 RETURNDATACOPY     answer to memory 0
    ///     RETURNDATASIZE PUSH0 RETURN
    ///     JUMPDEST
    ///     STOP                                          only where the calls did not run
    ///
    /// Code that ends stops there, so the last byte changes nothing but what the code tells:
    /// without it, the calls ran.
    bytes2 private constant STUB_HEAD = hex"336f";
    bytes23 private constant STUB_TAIL = hex"18602857365f5f375f5f365f335af43d5f5f3e3d5ff35b";
    uint256 internal constant EXECUTED_BYTES = 41;

    /// @dev Of what a target answers only so much is copied. Fits an `Error(string)` of 188 bytes.
    uint256 private constant RESULT_BYTES_MAX = 256;
    /// @dev A frame that runs out of gas d calls below a target leaves 1 - (63/64)^(d+1) of the gas
    /// to those above it: less than a quarter as far down as d = 17.
    uint256 private constant GAS_LEFT_DIVISOR = 4;

    address private immutable FACTORY = address(this);

    /// @dev Carries nothing: the caller that it refuses knows its own address.
    error NotVault();
    /// @notice Created at `found`, whose first four bytes are not zero, as {STUB_HEAD} needs them.
    error NotMined(address found);

    modifier onlyVault() {
        if (msg.sender != FACTORY || address(this) == FACTORY) revert NotVault();
        _;
    }

    constructor() {
        if (uint160(address(this)) > type(uint128).max) revert NotMined(address(this));
        // By assembly, for Solidity cannot ask for one opcode. Where MCOPY is missing, before
        // Cancun, executions would work and recoveries would not: there this fails.
        assembly ("memory-safe") {
            mcopy(0, 0, 0)
        }
    }

    /// @notice Internal protocol: the constructor of a vault. Answers with the code to leave there.
    /// @dev Whether the calls run is decided here, by the terms and the chain alone.
    function onCreation(Intent calldata intent) external onlyVault {
        if (address(this).code.length != 0) revert NotVault();
        bool open = _isOpen(intent);
        if (open) _run(intent.calls);

        address factory = FACTORY;
        // By assembly, for Solidity returns only what it encodes, and code has to be bare.
        assembly ("memory-safe") {
            mstore(0, STUB_HEAD)
            mstore(2, shl(128, factory))
            // A whole word: zeros follow the tail, and the first of them is the STOP.
            mstore(18, STUB_TAIL)
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
        // By assembly, for Solidity's call copies all that comes back, however long.
        assembly ("memory-safe") {
            ok := call(gas(), target, value, add(input, 32), mload(input), 0, 0)
        }
        result = _returned();
    }

    /// @dev Open until the end of the second `expirationTimestamp`, and only on its own chain.
    function _isOpen(Intent calldata intent) internal view returns (bool) {
        return intent.chainId == block.chainid && block.timestamp <= intent.expirationTimestamp;
    }

    /// @dev Whether an answer of `size` bytes that begins with `word` is what a token says of
    /// success: true, or, where it is older than ERC-20, nothing.
    function _isTrue(uint256 size, bytes32 word) internal pure returns (bool) {
        return size == 0 || (size >= 32 && uint256(word) == 1);
    }

    /// @dev Of whatever else than true a target answers, only that of these functions is a failure.
    function _isTokenCall(bytes4 selector) private pure returns (bool) {
        return selector == IERC20.transfer.selector || selector == IERC20.approve.selector
            || selector == IERC20.transferFrom.selector;
    }

    /// @dev A target that answers has code, or is a precompile, and then nothing happened.
    function _run(Call[] calldata calls) private {
        for (uint256 i = 0; i < calls.length; ++i) {
            Call calldata one = calls[i];
            address target = one.target;
            uint256 given = gasleft();
            (bool ok, bytes4 selector, uint256 size, bytes32 word) = _call(target, one);
            if (!ok || (!_isTrue(size, word) && _isTokenCall(selector))) {
                revert IPaymentFactory.CallFailed(i, target, _returned());
            }
            if (gasleft() < given / GAS_LEFT_DIVISOR) {
                revert IPaymentFactory.TooLittleGas(i, target);
            }
            if (size == 0 && target.code.length == 0) revert IPaymentFactory.NoCode(i, target);
        }
    }

    /// @dev The selector is made from the signature people are shown, so that no other function can
    /// run. `size` is what the target answered, `word` its first word where `size` is 32 at least.
    function _call(address target, Call calldata one)
        private
        returns (bool ok, bytes4 selector, uint256 size, bytes32 word)
    {
        string calldata signature = one.signature;
        bytes calldata args = one.args;
        bytes32 hash;
        // By assembly, as in {act}, and for gas: signature and arguments are copied only once.
        assembly ("memory-safe") {
            let input := mload(0x40)
            calldatacopy(input, signature.offset, signature.length)
            hash := keccak256(input, signature.length)
            mstore(input, hash)
            calldatacopy(add(input, 4), args.offset, args.length)
            ok := call(gas(), target, 0, input, add(args.length, 4), 0, 32)
            size := returndatasize()
            word := mload(0)
        }
        selector = bytes4(hash);
    }

    /// @dev The first 256 bytes of what the last call returned.
    function _returned() private pure returns (bytes memory data) {
        uint256 size = RESULT_BYTES_MAX;
        // By assembly, for Solidity cannot look at an answer without copying all of it.
        assembly ("memory-safe") {
            if lt(returndatasize(), size) { size := returndatasize() }
            data := mload(0x40)
            mstore(data, size)
            returndatacopy(add(data, 32), 0, size)
            mstore(0x40, and(add(add(data, size), 63), not(31)))
        }
    }
}

// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Call, Intent, IPaymentFactory} from "./IPaymentFactory.sol";

interface IERC20 {
    function balanceOf(address account) external view returns (uint256);
    function transfer(address to, uint256 amount) external returns (bool);
    function transferFrom(address from, address to, uint256 amount) external returns (bool);
    function approve(address spender, uint256 amount) external returns (bool);
}

/// @notice The code that runs in a vault: the vault's constructor and the functions for later
/// calls.
/// @dev This code is part of the factory, and a vault runs it with DELEGATECALL. The external
/// functions run only in a vault that the factory calls or creates. In a vault, `address(this)` is
/// not the factory.
abstract contract Vault {
    /// @dev The start of a vault's init code. The rest of the init code is the terms. The first 28
    /// bytes are code that calls the creator with DELEGATECALL. The input of this call is all bytes
    /// after the code. If the call succeeds, the code deploys the call's result. Otherwise, the
    /// code reverts with this result. The last four bytes of PREFIX are a selector, so the
    /// DELEGATECALL runs {onCreation} with the terms.
    ///
    ///     PUSH0 PUSH0                                   no memory for the result
    ///     PUSH1 28 CODESIZE SUB                         size of the input
    ///     DUP1 PUSH1 28 PUSH0 CODECOPY                  input to memory 0
    ///     PUSH0 CALLER GAS DELEGATECALL                 call
    ///     RETURNDATASIZE PUSH0 PUSH0 RETURNDATACOPY     result to memory 0
    ///     PUSH0 RETURNDATASIZE SWAP2 PUSH1 26 JUMPI     if it succeeded: to the end
    ///     REVERT JUMPDEST RETURN
    bytes32 internal constant PREFIX =
        hex"5f5f601c380380601c5f395f335af43d5f5f3e5f3d91601a57fd5bf302d616e0";

    /// @dev The two halves of a vault's permanent code. Between the halves is the factory's address
    /// without its first four bytes, which are zero. If the caller is the factory, the code runs
    /// the factory's code with DELEGATECALL and returns the result. For any other caller, the code
    /// accepts native coin and does nothing. The code does not check whether the DELEGATECALL
    /// failed. Each byte of such a check would cost every execution 200 gas. {act} fails only if it
    /// runs out of gas, and the result is then empty.
    ///
    ///     CALLER PUSH16 factory XOR PUSH1 40 JUMPI      another caller: to the end
    ///     CALLDATASIZE PUSH0 PUSH0 CALLDATACOPY         input to memory 0
    ///     PUSH0 PUSH0 CALLDATASIZE PUSH0                no memory for the result
    ///     CALLER GAS DELEGATECALL                       call
    ///     RETURNDATASIZE PUSH0 PUSH0 RETURNDATACOPY     result to memory 0
    ///     RETURNDATASIZE PUSH0 RETURN
    ///     JUMPDEST
    ///     STOP                                          only if the calls did not run
    ///
    /// Execution also stops at the end of the code, so the last byte does not change the behavior.
    /// The last byte only shows that the calls did not run.
    bytes2 private constant STUB_HEAD = hex"336f";
    bytes23 private constant STUB_TAIL = hex"18602857365f5f375f5f365f335af43d5f5f3e3d5ff35b";
    uint256 internal constant EXECUTED_BYTES = 41;

    /// @dev The maximum number of bytes that the vault copies from a target's result. An
    /// `Error(string)` with 188 bytes of text fits.
    uint256 private constant RESULT_BYTES_MAX = 256;
    /// @dev A call frame that is d calls below a target may run out of gas. The frames above it
    /// then keep 1 - (63/64)^(d+1) of the target's gas. This share is less than a quarter if d is
    /// at most 17.
    uint256 private constant GAS_LEFT_DIVISOR = 4;

    address private immutable FACTORY = address(this);

    /// @dev Has no arguments, because the caller already knows its own address.
    error NotVault();
    /// @notice The factory was created at `found`. The first four bytes of its address must be
    /// zero, because the permanent code omits them.
    error NotMined(address found);

    modifier onlyVault() {
        if (msg.sender != FACTORY || address(this) == FACTORY) revert NotVault();
        _;
    }

    constructor() {
        if (uint160(address(this)) > type(uint128).max) revert NotMined(address(this));
        // Assembly, because Solidity has no statement for the opcode MCOPY. This MCOPY makes the
        // creation fail on a chain without MCOPY (before Cancun). On such a chain, executions would
        // work, but recoveries would not.
        assembly ("memory-safe") {
            mcopy(0, 0, 0)
        }
    }

    /// @notice The constructor of a vault. Returns the code to deploy at the vault. Runs only while
    /// the factory creates the vault.
    /// @dev Whether the calls run depends only on the terms, the chain ID, and the block's
    /// timestamp.
    function onCreation(Intent calldata intent) external onlyVault {
        if (address(this).code.length != 0) revert NotVault();
        bool open = _isOpen(intent);
        if (open) _run(intent.calls);

        address factory = FACTORY;
        // Assembly, because Solidity would ABI-encode the returned code.
        assembly ("memory-safe") {
            mstore(0, STUB_HEAD)
            mstore(2, shl(128, factory))
            // mstore writes a whole word, so zeros follow the tail. The first zero is the STOP.
            mstore(18, STUB_TAIL)
            return(0, add(EXECUTED_BYTES, iszero(open)))
        }
    }

    /// @notice Makes a call from a vault that was executed or closed. If the target fails, returns
    /// false and does not revert. Runs only inside a vault that the factory calls.
    function act(address target, uint256 value, bytes calldata data)
        external
        onlyVault
        returns (bool ok, bytes memory result)
    {
        bytes memory input = data;
        // Assembly, because Solidity's call copies the whole result, regardless of its size.
        assembly ("memory-safe") {
            ok := call(gas(), target, value, add(input, 32), mload(input), 0, 0)
        }
        result = _returned();
    }

    /// @dev Returns whether the intent's chain is this chain and the expiration time has not
    /// passed.
    function _isOpen(Intent calldata intent) internal view returns (bool) {
        return intent.chainId == block.chainid && block.timestamp <= intent.expirationTimestamp;
    }

    /// @dev Returns whether a token's result means success. `size` is the length of the result in
    /// bytes, and `word` is its first word. The result true means success. An empty result also
    /// means success, because some tokens return nothing.
    function _isTrue(uint256 size, bytes32 word) internal pure returns (bool) {
        return size == 0 || (size >= 32 && uint256(word) == 1);
    }

    /// @dev Returns whether a call of `selector` must return true or nothing.
    function _isTokenCall(bytes4 selector) private pure returns (bool) {
        return selector == IERC20.transfer.selector || selector == IERC20.approve.selector
            || selector == IERC20.transferFrom.selector;
    }

    /// @dev If a call returns no data, checks that its target has code. A target that returns data
    /// has code or is a precompile. A precompile cannot change the state.
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

    /// @dev Computes the selector from the signature that people see, so no other function can be
    /// selected. `size` is the size of the target's result. If `size` is at least 32, `word` is the
    /// first word of the result.
    function _call(address target, Call calldata one)
        private
        returns (bool ok, bytes4 selector, uint256 size, bytes32 word)
    {
        string calldata signature = one.signature;
        bytes calldata args = one.args;
        bytes32 hash;
        // Assembly, for the same reason as in {act}. It also copies the signature and the arguments
        // only once. An execution with one call costs 774 gas less (bench/bench.ts, row _call).
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

    /// @dev Returns the first 256 bytes of the last call's result.
    function _returned() private pure returns (bytes memory data) {
        uint256 size = RESULT_BYTES_MAX;
        // Assembly, because Solidity can only read a result by copying the whole result.
        assembly ("memory-safe") {
            if lt(returndatasize(), size) { size := returndatasize() }
            data := mload(0x40)
            mstore(data, size)
            returndatacopy(add(data, 32), 0, size)
            mstore(0x40, and(add(add(data, size), 63), not(31)))
        }
    }
}

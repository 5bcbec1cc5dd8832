// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {PlainToken} from "./PlainToken.sol";

/// @notice Imitates the checks and storage reads of Circle's FiatToken v2.2. The token can be
/// paused. The highest bit of a stored balance shows whether the account is blocked.
contract FiatToken is PlainToken {
    address public pauser;
    bool public paused;

    uint256 private constant BLOCKED = 1 << 255;

    error Paused();
    error Blocked(address account);

    function pause(bool paused_) external {
        paused = paused_;
    }

    function setBlocked(address account, bool blocked) external {
        uint256 balance = slots[account] & ~BLOCKED;
        slots[account] = blocked ? balance | BLOCKED : balance;
    }

    function balanceOf(address account) public view override returns (uint256) {
        return slots[account] & ~BLOCKED;
    }

    function approve(address spender, uint256 amount) public override returns (bool) {
        _check(msg.sender, spender);
        return super.approve(spender, amount);
    }

    function transfer(address to, uint256 amount) public override returns (bool) {
        _check(msg.sender, to);
        return super.transfer(to, amount);
    }

    function transferFrom(address from, address to, uint256 amount)
        public
        override
        returns (bool)
    {
        _check(from, to);
        if (slots[msg.sender] & BLOCKED != 0) revert Blocked(msg.sender);
        return super.transferFrom(from, to, amount);
    }

    function _check(address one, address other) private view {
        if (paused) revert Paused();
        if (slots[one] & BLOCKED != 0) revert Blocked(one);
        if (slots[other] & BLOCKED != 0) revert Blocked(other);
    }
}

/// @notice The token's proxy: reads two slots, compares the caller with the admin, and uses
/// DELEGATECALL.
contract FiatTokenProxy {
    /// @dev The slot that EIP-1967 defines for the implementation. Circle's proxies use slots from
    /// before EIP-1967.
    bytes32 private constant IMPLEMENTATION =
        0x360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc;
    bytes32 private constant ADMIN =
        0xb53127684a568b3173ae13b9f8a6016e243e63b6e8ee1178d6a717850b5d6103;

    constructor(address implementation, address admin) {
        assembly {
            sstore(IMPLEMENTATION, implementation)
            sstore(ADMIN, admin)
        }
    }

    fallback() external {
        assembly {
            if eq(caller(), sload(ADMIN)) { revert(0, 0) }
            calldatacopy(0, 0, calldatasize())
            let ok := delegatecall(gas(), sload(IMPLEMENTATION), 0, calldatasize(), 0, 0)
            returndatacopy(0, 0, returndatasize())
            if iszero(ok) { revert(0, returndatasize()) }
            return(0, returndatasize())
        }
    }
}

// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

interface IBalance {
    function balanceOf(address account) external view returns (uint256);
}

/// @title Guards
/// @notice Lets a call of an intent require a minimum of gas or a minimum balance.
/// @dev The contract has no owner and no storage. The contract can be replaced, because an intent
/// names the contracts that it calls.
contract Guards {
    error TooLittleGas(uint256 wanted, uint256 found);
    error BalanceTooLow(address token, address holder, uint256 wanted, uint256 found);
    /// @notice `token` did not return a 32-byte word for `balanceOf(holder)`.
    error BalanceUnknown(address token, address holder);

    /// @notice Reverts unless at least `gas` is left for this call. The vault needs at least 64/63
    /// of `gas` before this call. A call can pass on at most 63/64 of the remaining gas (EIP-150).
    /// @dev Call this function before a target that reads `gasleft()` and does less work with
    /// little gas. `gas` must be higher than the gas that the target needs, because the factory
    /// uses gas between the calls. The difference grows with the target's arguments. It is less
    /// than 2,000 gas for short arguments, and 6,681 gas for 23,000 bytes.
    function requireGas(uint256 gas) external view {
        uint256 found = gasleft();
        if (found < gas) revert TooLittleGas(gas, found);
    }

    /// @notice Reverts unless `holder` has at least `min` base units of `token` now. The zero
    /// address as token means native coin.
    /// @dev After a swap, this call requires a minimum result, regardless of the swap's route.
    function requireBalance(address token, address holder, uint256 min) external view {
        uint256 found = _balanceOf(token, holder);
        if (found < min) revert BalanceTooLow(token, holder, min, found);
    }

    function _balanceOf(address token, address holder) private view returns (uint256) {
        if (token == address(0)) return holder.balance;
        (bool ok, bytes memory answer) =
            token.staticcall(abi.encodeCall(IBalance.balanceOf, (holder)));
        if (!ok || answer.length < 32) revert BalanceUnknown(token, holder);
        return abi.decode(answer, (uint256));
    }
}

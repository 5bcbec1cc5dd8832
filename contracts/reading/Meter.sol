// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {answerWith, Balance, balanceOf, Holder} from "./Balance.sol";

/// @title Meter
/// @notice Balances before and after one call, in one eth_call of a creation that never happens.
/// They are what each token answers when it is asked; no log is believed.
/// @dev Answers `abi.encode(chainId, timestamp, gas, succeeded, answer, before, later)`: `gas` is
/// what was left when the call began, `answer` the first 512 bytes of what the call returned or
/// reverted with, the last two are Balance[]. A creation answers 24,576 bytes at most.
contract Meter {
    /// @dev For one balance: Circle's proxied tokens take 10,000. One that burns it all is unknown.
    uint256 private constant BALANCE_GAS = 50_000;
    uint256 private constant ANSWER_BYTES_MAX = 512;

    constructor(address target, bytes memory data, uint256 gasMax, Holder[] memory holders) {
        Balance[] memory before = _balances(holders);
        bytes memory answer = new bytes(ANSWER_BYTES_MAX);
        uint256 gas = gasleft();
        bool succeeded;
        // By assembly, for Solidity's call copies all that comes back, however long.
        assembly ("memory-safe") {
            succeeded := call(gasMax, target, 0, add(data, 32), mload(data), 0, 0)
            if lt(returndatasize(), ANSWER_BYTES_MAX) { mstore(answer, returndatasize()) }
            returndatacopy(add(answer, 32), 0, mload(answer))
        }
        Balance[] memory later = _balances(holders);
        bytes memory measured =
            abi.encode(block.chainid, block.timestamp, gas, succeeded, answer, before, later);
        answerWith(measured);
    }

    function _balances(Holder[] memory holders) private view returns (Balance[] memory found) {
        found = new Balance[](holders.length);
        for (uint256 i = 0; i < holders.length; ++i) {
            found[i] = balanceOf(holders[i], BALANCE_GAS);
        }
    }
}

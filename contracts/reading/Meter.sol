// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {answerWith, Balance, balanceOf, Holder} from "./Balance.sol";

/// @title Meter
/// @notice Reads balances before and after one call. The program is the init code of a contract
/// creation that eth_call simulates, so nothing is deployed. The balances are read from the tokens,
/// not from logs.
/// @dev Returns `abi.encode(chainId, timestamp, gas, succeeded, answer, before, later)`. `gas` is
/// the gas that was left when the call started. `answer` is the first 512 bytes that the call
/// returned or reverted with. `before` and `later` are arrays of Balance. A creation returns at
/// most 24,576 bytes.
contract Meter {
    /// @dev The gas for reading one balance. Circle's proxied tokens need 10,000 gas. If a token
    /// burns all of this gas, the balance is unknown.
    uint256 private constant BALANCE_GAS = 50_000;
    uint256 private constant ANSWER_BYTES_MAX = 512;

    constructor(address target, bytes memory data, uint256 gasMax, Holder[] memory holders) {
        Balance[] memory before = _balances(holders);
        bytes memory answer = new bytes(ANSWER_BYTES_MAX);
        uint256 gas = gasleft();
        bool succeeded;
        // Assembly, because Solidity's call copies the whole result, regardless of its size.
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

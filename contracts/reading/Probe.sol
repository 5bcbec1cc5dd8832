// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {answerWith, Balance, balanceOf, Holder} from "./Balance.sol";

/// @title Probe
/// @notice Reads the balances of many addresses. The program runs in the eth_call of a contract
/// creation, so it needs no deployment. Unlike Multicall3, the program also reads the sizes of the
/// addresses' code.
/// @dev Returns `abi.encode(chainId, timestamp, Holding[])`. The chain ID and the time show whether
/// the answer is from another chain or block. A creation returns at most 24,576 bytes.
contract Probe {
    struct Holding {
        uint256 codeBytes;
        uint256 native;
        bool known;
        uint256 balance;
    }

    /// @dev The gas for reading one balance. This gas is enough for any proxied token. If about 150
    /// tokens burn all this gas, the eth_call exceeds a node's gas limit and fails. The service
    /// then reads fewer addresses per call.
    uint256 private constant BALANCE_GAS = 1_000_000;

    constructor(Holder[] memory holders) {
        Holding[] memory holdings = new Holding[](holders.length);
        for (uint256 i = 0; i < holders.length; ++i) {
            address owner = holders[i].owner;
            Balance memory found = balanceOf(holders[i], BALANCE_GAS);
            holdings[i] = Holding(owner.code.length, owner.balance, found.known, found.amount);
        }
        answerWith(abi.encode(block.chainid, block.timestamp, holdings));
    }
}

// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {answerWith, Balance, balanceOf, Holder} from "./Balance.sol";

/// @title Probe
/// @notice What many addresses hold, in one eth_call of a creation that never happens: nothing has
/// to be deployed on the chain. Unlike Multicall3 it also sees how long an address's code is.
/// @dev Answers `abi.encode(chainId, timestamp, Holding[])`: chain and time, so that an answer from
/// another chain or block cannot pass for this one. A creation answers 24,576 bytes at most.
contract Probe {
    struct Holding {
        uint256 codeBytes;
        uint256 native;
        bool known;
        uint256 balance;
    }

    /// @dev For one balance. Enough for any proxied token; 150 hostile ones exceed a node's call.
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

// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {vm} from "../Vm.sol";
import {World} from "./World.sol";

/// @dev Changes the chain ID, as after a fork of the chain. An intent can be executed only on its
/// own chain. On every other chain, it can be recovered immediately.
contract ChainInvariants is World {
    function hop(uint256 seed) external {
        chain = seed % 3 + 1;
    }

    function fund(uint256 seed, uint256 amount) external {
        _fund(seed, amount);
    }

    function fundCoin(uint256 seed, uint256 amount) external {
        _fundCoin(seed, amount);
    }

    function wait_(uint256 seed) external {
        _wait(seed);
    }

    function execute(uint256 seed) external {
        // Foundry resets the chain ID between two calls.
        vm.chainId(chain);
        _execute(seed);
    }

    function recover(uint256 seed) external {
        vm.chainId(chain);
        _recover(seed);
    }

    function _moves() internal pure override returns (bytes4[] memory moves) {
        moves = new bytes4[](6);
        moves[0] = this.hop.selector;
        moves[1] = this.fund.selector;
        moves[2] = this.fundCoin.selector;
        moves[3] = this.wait_.selector;
        moves[4] = this.execute.selector;
        moves[5] = this.recover.selector;
    }

    function invariant_chains() external view {
        _checkAll();
    }
}

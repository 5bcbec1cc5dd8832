// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {World} from "./World.sol";

/// @dev Funds, waits, executes, and recovers in any order. An intent executes at most once, and
/// completely or not at all. It executes only while it is open and fully funded. An execution that
/// meets these conditions succeeds, unless one of the intent's calls fails.
contract LifeInvariants is World {
    function fund(uint256 seed, uint256 amount) external {
        _fund(seed, amount);
    }

    function fundOther(uint256 seed, uint256 amount) external {
        _fundOther(seed, amount);
    }

    function fundCoin(uint256 seed, uint256 amount) external {
        _fundCoin(seed, amount);
    }

    function wait_(uint256 seed) external {
        _wait(seed);
    }

    function execute(uint256 seed) external {
        _execute(seed);
    }

    function executeAgain(uint256 seed) external {
        _execute(seed);
        _execute(seed);
    }

    function recover(uint256 seed) external {
        _recover(seed);
    }

    function _moves() internal pure override returns (bytes4[] memory moves) {
        moves = new bytes4[](7);
        moves[0] = this.fund.selector;
        moves[1] = this.fundOther.selector;
        moves[2] = this.fundCoin.selector;
        moves[3] = this.wait_.selector;
        moves[4] = this.execute.selector;
        moves[5] = this.executeAgain.selector;
        moves[6] = this.recover.selector;
    }

    function invariant_lives() external view {
        _checkAll();
    }
}

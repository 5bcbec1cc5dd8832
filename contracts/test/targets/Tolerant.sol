// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @notice A target that continues if its inner work fails, like many multicalls, bridges, and
/// hooks. The work is nested `depth` calls below the target, and writes a new slot per item.
contract Tolerant {
    uint256 public visits;
    uint256[] private shelf;

    /// @notice Only this function catches the failure of {work}. A failure at any depth reverts all
    /// calls of {work}.
    function tryWork(uint256 depth, uint256 items) external {
        visits++;
        try this.work(depth - 1, items) {} catch {}
    }

    /// @notice Tolerates a failure in each frame.
    function tryWorkEverywhere(uint256 depth, uint256 items) external {
        if (depth == 0) return this.work(0, items);
        try this.tryWorkEverywhere(depth - 1, items) {} catch {}
    }

    /// @notice Calls {work} with half of the gas that is left.
    function tryWorkWithHalf(uint256 items) external {
        try this.work{gas: gasleft() / 2}(0, items) {} catch {}
    }

    function work(uint256 depth, uint256 items) external {
        if (depth != 0) return this.work(depth - 1, items);
        for (uint256 i = 0; i < items; ++i) {
            shelf.push(i + 1);
        }
    }

    function done() external view returns (uint256) {
        return shelf.length;
    }
}

// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @dev Has to fail, whenever it is run: forge.test.ts runs it to see that failures are reported.
contract CanaryTest {
    function test_fails() external pure {
        require(false, "the canary sings");
    }
}

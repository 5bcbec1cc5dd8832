// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @dev Always fails. forge.test.ts runs it to check that failures are reported.
contract CanaryTest {
    function test_fails() external pure {
        require(false, "the canary sings");
    }
}

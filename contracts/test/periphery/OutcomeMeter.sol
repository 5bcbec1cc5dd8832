// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Fate, Outcome} from "../../periphery/Outcome.sol";

/// @dev Calls the library from a contract with the compiler settings of the deployed contracts.
contract OutcomeMeter {
    function outcomeOf(address vault) external view returns (Fate fate, uint256 gasUsed) {
        uint256 before = gasleft();
        fate = Outcome.outcomeOf(vault);
        gasUsed = before - gasleft();
    }
}

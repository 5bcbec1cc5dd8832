// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Fate, Outcome} from "../../periphery/Outcome.sol";

/// @dev Calls the library as a contract does that is compiled as the deployed ones are.
contract OutcomeMeter {
    function outcomeOf(address vault) external view returns (Fate fate, uint256 gasUsed) {
        uint256 before = gasleft();
        fate = Outcome.outcomeOf(vault);
        gasUsed = before - gasleft();
    }
}

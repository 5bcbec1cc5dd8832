// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {vm} from "./Vm.sol";

/// @dev Replaces test/Deployed.sol. The address of a contract depends on its code, so the deployer
/// would create the mutant at an address without the leading zeros that the mutant's vaults need.
/// Therefore the mutant's constructor runs at the factory's address.
abstract contract Deployed {
    function deploy(address factory, bytes32, bytes memory creationCode) internal {
        vm.etch(factory, creationCode);
        (bool ok, bytes memory code) = factory.call("");
        require(ok, "the mutant's constructor succeeds");
        vm.etch(factory, code);
    }
}

// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {vm} from "./Vm.sol";

/// @dev Replaces test/Deployed.sol for mutants. A mutant has different code than the factory, so
/// the deployer would create it at a different address. Vaults need the leading zeros of the
/// factory's address, so this contract runs the mutant's constructor at that address.
abstract contract Deployed {
    function deploy(address factory, bytes32, bytes memory creationCode) internal {
        vm.etch(factory, creationCode);
        (bool ok, bytes memory code) = factory.call("");
        require(ok, "the mutant's constructor succeeds");
        vm.etch(factory, code);
    }
}

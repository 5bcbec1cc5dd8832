// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {vm} from "./Vm.sol";

/// @dev Replaces test/Deployed.sol for mutants. The deployer would create a mutant at a different
/// address, because the mutant's code differs. Vaults need the leading zeros of the factory's
/// address. So this contract runs the mutant's constructor at the factory's address.
abstract contract Deployed {
    function deploy(address factory, bytes32, bytes memory creationCode) internal {
        vm.etch(factory, creationCode);
        (bool ok, bytes memory code) = factory.call("");
        require(ok, "the mutant's constructor succeeds");
        vm.etch(factory, code);
    }
}

// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {vm} from "./Vm.sol";

/// @dev In place of test/Deployed.sol: a mutant has other code, and so would have another address
/// by the deployer, without the leading zeros that its vaults rely on. So its constructor runs at
/// the factory's address.
abstract contract Deployed {
    function deploy(address factory, bytes32, bytes memory creationCode) internal {
        vm.etch(factory, creationCode);
        (bool ok, bytes memory code) = factory.call("");
        require(ok, "the mutant's constructor succeeds");
        vm.etch(factory, code);
    }
}

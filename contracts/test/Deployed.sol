// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {vm} from "./Vm.sol";

/// @dev Deploys the factory to its address with the deterministic deployer, as on every chain.
abstract contract Deployed {
    address private constant DEPLOYER = 0x4e59b44847b379578588920cA78FbF26c0B4956C;
    bytes private constant DEPLOYER_CODE = hex"7fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffe036016000"
        hex"81602082378035828234f58015156039578182fd5b8082525050506014600cf3";

    function deploy(address factory, bytes32 salt, bytes memory creationCode) internal {
        vm.etch(DEPLOYER, DEPLOYER_CODE);
        (bool ok,) = DEPLOYER.call(bytes.concat(salt, creationCode));
        require(ok, "the deployer deploys the factory");
        require(factory.code.length != 0, "the factory is where the snapshot says");
    }
}

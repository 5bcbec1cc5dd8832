// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Errors} from "./Errors.sol";
import {Fixture} from "./Fixture.sol";
import {vm} from "./Vm.sol";

/// @dev Tests at which addresses and under which hard forks the factory can be created.
contract CreationTest is Fixture {
    function test_NotMined_atAnyOtherAddress(bytes32 salt) public {
        bytes memory creationCode =
            vm.parseJsonBytes(vm.readFile("snapshots/deployment.json"), ".creationCode");
        bytes32 hash = keccak256(
            abi.encodePacked(bytes1(0xff), address(this), salt, keccak256(creationCode))
        );
        address wanted = address(uint160(uint256(hash)));
        address created;
        assembly {
            created := create2(0, add(creationCode, 32), mload(creationCode), salt)
        }
        bytes memory reason;
        assembly {
            reason := mload(0x40)
            mstore(reason, returndatasize())
            returndatacopy(add(reason, 32), 0, returndatasize())
            mstore(0x40, add(reason, 128))
        }
        check(created == address(0), "not created");
        sameBytes(reason, abi.encodeCall(Errors.NotMined, (wanted)), "NotMined");
    }

    function test_NotMined_fromTheFirstAddressAbove16Bytes() public {
        string memory json = vm.readFile("snapshots/deployment.json");
        bytes memory creationCode = vm.parseJsonBytes(json, ".creationCode");
        address last = address(uint160(type(uint128).max));
        address beyond = address(uint160(type(uint128).max) + 1);
        vm.etch(last, creationCode);
        vm.etch(beyond, creationCode);
        (bool ok, bytes memory answer) = last.call("");
        check(ok && answer.length == address(factory).code.length, "the last gives code");
        (ok, answer) = beyond.call("");
        check(!ok, "the next does not");
        sameBytes(answer, abi.encodeCall(Errors.NotMined, (beyond)), "NotMined");
    }

    /// @dev Assumption 7. Without MCOPY, executions would succeed and recoveries would fail.
    function test_deploymentBeforeCancun_fails() public {
        bytes memory creationCode =
            vm.parseJsonBytes(vm.readFile("snapshots/deployment.json"), ".creationCode");
        address last = address(uint160(type(uint128).max));
        vm.etch(last, creationCode);
        vm.setEvmVersion("shanghai");
        (bool ok,) = last.call("");
        check(!ok, "refused");
        vm.setEvmVersion("cancun");
        (ok,) = last.call("");
        check(ok, "created");
    }

    function test_theFactorysAddress_beginsWithFourZeroBytes() public view {
        check(uint160(address(factory)) <= type(uint128).max, "mined");
        check(address(factory).code.length != 0, "created");
    }
}

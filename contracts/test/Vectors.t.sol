// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Intent} from "../src/IPaymentFactory.sol";
import {Fixture} from "./Fixture.sol";
import {vm} from "./Vm.sol";

/// @dev Tests this contract with the library's vectors, spec/vectors.json.
contract VectorsTest is Fixture {
    function test_everyAcceptedVector_decodesReencodesAndDerives() public {
        string memory json = vm.readFile("../spec/vectors.json");
        uint256 count;
        for (; vm.keyExistsJson(json, string.concat(key(count), ".terms")); ++count) {
            bytes memory terms = vm.parseJsonBytes(json, string.concat(key(count), ".terms"));
            address vault = vm.parseJsonAddress(json, string.concat(key(count), ".address"));
            Intent memory intent = abi.decode(terms, (Intent));
            check(keccak256(abi.encode(intent)) == keccak256(terms), "the terms are canonical");
            check(factory.addressOf(terms) == vault, "the address of the terms");
            check(factory.addressOf(intent) == vault, "the address of the intent");
        }
        check(count >= 60, "there are at least 60 vectors");
    }

    function key(uint256 index) private pure returns (string memory) {
        return string.concat(".accepted[", vm.toString(index), "]");
    }
}

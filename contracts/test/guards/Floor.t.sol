// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Call, Intent} from "../../src/IPaymentFactory.sol";
import {Errors} from "../Errors.sol";
import {Fixture} from "../Fixture.sol";
import {vm} from "../Vm.sol";

/// @notice Accepts any calldata, uses a share of its gas, and returns `size` bytes that begin with
/// `word`.
contract Burner {
    uint256 private immutable PERCENT;
    uint256 private immutable SIZE;
    uint256 private immutable WORD;

    constructor(uint256 percent, uint256 size, uint256 word) {
        (PERCENT, SIZE, WORD) = (percent, size, word);
    }

    fallback() external {
        uint256 end = gasleft() * (100 - PERCENT) / 100;
        (uint256 size, uint256 word) = (SIZE, WORD);
        while (gasleft() > end) {}
        assembly {
            mstore(0, word)
            return(0, size)
        }
    }
}

/// @dev Tests that the gas floor applies to each call, at every position and with any amount of
/// gas. The answer and the function of the call do not matter. A call that uses 80 % of its gas
/// leaves less than a quarter.
contract FloorTest is Fixture {
    function test_TooLittleGas_forTheCallAtAnyPosition() public {
        Burner burner = new Burner(80, 0, 0);
        uint256[6] memory positions = [uint256(0), 1, 7, 8, 11, 31];
        for (uint256 i = 0; i < positions.length; ++i) {
            Call[] memory calls = new Call[](32);
            for (uint256 j = 0; j < calls.length; ++j) {
                calls[j] = plainCall(address(shop), "visit()", "");
            }
            calls[positions[i]].target = address(burner);
            _refused(calls, 10_000_000, positions[i]);
        }
    }

    function test_TooLittleGas_withAnyAmountOfGas() public {
        Call[] memory calls = list(plainCall(address(new Burner(80, 0, 0)), "visit()", ""));
        uint256[6] memory limits =
            [uint256(300_000), 1_000_000, 4_900_000, 5_100_000, 16_000_000, 60_000_000];
        for (uint256 i = 0; i < limits.length; ++i) {
            _refused(calls, limits[i], 0);
        }
    }

    function test_TooLittleGas_forAnyAnswerAndAnyFunctionOfTheTarget() public {
        string[5] memory signatures = [
            "visit()",
            "transfer(address,uint256)",
            "approve(address,uint256)",
            "transferFrom(address,address,uint256)",
            "mint(address,uint256)"
        ];
        for (uint256 i = 0; i < signatures.length; ++i) {
            address[3] memory targets = [
                address(new Burner(80, 0, 0)),
                address(new Burner(80, 32, 1)),
                address(new Burner(80, 96, 1))
            ];
            for (uint256 j = 0; j < targets.length; ++j) {
                _refused(list(plainCall(targets[j], signatures[i], "")), 1_000_000, 0);
            }
        }
        address falsy = address(new Burner(80, 32, 0));
        _refused(list(plainCall(falsy, "visit()", "")), 1_000_000, 0);
    }

    /// @dev Each call must leave a quarter of the gas that was available at its start. Together,
    /// the two calls may leave less than a quarter of the initial gas.
    function test_callsThatOnlyTogetherLeaveLessThanAQuarter_areExecuted() public {
        address burner = address(new Burner(60, 0, 0));
        Call memory one = plainCall(burner, "visit()", "");
        Intent memory intent = intentOf(list(one, one));
        address vault = funded(intent, AMOUNT);
        factory.execute{gas: 4_000_000}(intent);
        check(vault.code.length != 0, "executed");
    }

    function _refused(Call[] memory calls, uint256 gas, uint256 position) private {
        Intent memory intent = intentOf(calls);
        funded(intent, AMOUNT);
        (bool ok, bytes memory reason) =
            address(factory).call{gas: gas}(abi.encodeCall(factory.execute, (intent)));
        bytes memory wanted =
            abi.encodeCall(Errors.TooLittleGas, (position, calls[position].target));
        check(!ok && keccak256(reason) == keccak256(wanted), vm.toString(gas));
    }
}

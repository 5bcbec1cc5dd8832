// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Guards} from "../../periphery/Guards.sol";
import {Call, Intent} from "../../src/IPaymentFactory.sol";
import {Fixture} from "../Fixture.sol";
import {vm} from "../Vm.sol";

contract GuardsTest is Fixture {
    Guards private guards = new Guards();

    function test_TooLittleGas_ifLessGasIsLeft(uint256 wanted) public {
        wanted = bounded(wanted, 100_001, type(uint256).max);
        (bool ok, bytes memory reason) =
            address(guards).call{gas: 100_000}(abi.encodeCall(guards.requireGas, (wanted)));
        check(!ok && bytes4(reason) == Guards.TooLittleGas.selector, "refused");
    }

    function test_requireGas_passesWithTheRequiredGas(uint256 wanted) public view {
        wanted = bounded(wanted, 0, 99_000);
        guards.requireGas{gas: 100_000}(wanted);
    }

    /// @dev The intent calls the guard and then the target. With little gas, the target does less
    /// work.
    function test_requireGas_preventsAnExecutionWithLessGas() public {
        Thrifty target = new Thrifty();
        Call[] memory calls = list(
            plainCall(address(guards), "requireGas(uint256)", abi.encode(1_000_000)),
            plainCall(address(target), "work()", "")
        );
        bool ran;
        for (uint256 gas = 150_000; gas < 1_500_000; gas += 30_011) {
            Intent memory intent = intentOf(calls);
            funded(intent, AMOUNT);
            uint256 before = target.done();
            (bool ok,) = address(factory).call{gas: gas}(abi.encodeCall(factory.execute, (intent)));
            check(!ok || target.done() == before + 1, "ran, so the work is done");
            ran = ran || ok;
        }
        check(ran, "enough gas runs it");
    }

    function test_BalanceTooLow_forATokenAndForNativeCoin(uint256 held, uint256 wanted) public {
        held = bounded(held, 0, type(uint256).max - 1);
        wanted = bounded(wanted, held + 1, type(uint256).max);
        token.mint(STRANGER, held);
        vm.expectRevert(
            abi.encodeWithSelector(
                Guards.BalanceTooLow.selector, address(token), STRANGER, wanted, held
            )
        );
        guards.requireBalance(address(token), STRANGER, wanted);
        guards.requireBalance(address(token), STRANGER, held);

        vm.deal(STRANGER, held);
        vm.expectRevert(
            abi.encodeWithSelector(Guards.BalanceTooLow.selector, NATIVE, STRANGER, wanted, held)
        );
        guards.requireBalance(NATIVE, STRANGER, wanted);
        guards.requireBalance(NATIVE, STRANGER, held);
    }

    function test_BalanceUnknown_ifTheTokenHasNoCode_forRequireBalance() public {
        address[3] memory none = [STRANGER, address(guards), address(new Thrifty())];
        for (uint256 i = 0; i < none.length; ++i) {
            vm.expectRevert(
                abi.encodeWithSelector(Guards.BalanceUnknown.selector, none[i], STRANGER)
            );
            guards.requireBalance(none[i], STRANGER, 0);
        }
    }
}

/// @dev Does its work only if there is enough gas, and never fails.
contract Thrifty {
    uint256 public done;

    function work() external {
        if (gasleft() > 900_000) done += 1;
    }
}

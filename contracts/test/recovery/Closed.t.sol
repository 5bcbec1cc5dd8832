// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Call, Intent, IPaymentFactory} from "../../src/IPaymentFactory.sol";
import {Errors} from "../Errors.sol";
import {Fixture} from "../Fixture.sol";
import {Vm, vm} from "../Vm.sol";

/// @dev Tests vaults that `recover` or `rescue` closed without running their calls.
contract ClosedTest is Fixture {
    function test_leaves42Bytes_whichShowThatNoCallRan_afterRecoverAndRescue() public {
        bytes32 wanted = keccak256(bytes.concat(executedCode(), hex"00"));
        Intent memory recovered = plainIntent();
        Intent memory rescued = plainIntent();
        Intent memory elsewhere = plainIntent();
        elsewhere.chainId = 8453;
        factory.recover(elsewhere, list(address(token)));
        check(keccak256(factory.addressOf(elsewhere).code) == wanted, "on another chain");
        vm.warp(EXPIRY + 1);
        factory.recover(recovered, list(address(token)));
        check(keccak256(factory.addressOf(recovered).code) == wanted, "by recover");
        vm.prank(RECOVERY);
        factory.rescue(rescued, address(token), 0, abi.encodeCall(token.balanceOf, (RECOVERY)));
        check(keccak256(factory.addressOf(rescued).code) == wanted, "by rescue");
    }

    function test_Closed_isEmittedOnce_byRecoverAndRescue_andNeverAfterExecuted() public {
        Intent memory executed = plainIntent();
        Intent memory recovered = plainIntent();
        Intent memory rescued = plainIntent();
        funded(executed, AMOUNT + 1);
        vm.recordLogs();
        factory.execute(executed);
        factory.recover(executed, list(address(token)));
        equal(closed(), 0, "executed");
        vm.warp(EXPIRY + 1);
        for (uint256 i = 0; i < 2; ++i) {
            factory.recover(recovered, new address[](0));
            equal(closed(), 1 - i, "the first time, by recover");
            check(closedVault == address(0) || closedVault == factory.addressOf(recovered), "it");
            vm.prank(RECOVERY);
            factory.rescue(rescued, address(token), 0, transferData());
            equal(closed(), 1 - i, "the first time, by rescue");
            check(closedVault == address(0) || closedVault == factory.addressOf(rescued), "it");
        }
    }

    address private closedVault;

    /// @dev Counts the {Closed} events since the last call. Stores the vault of the last event.
    function closed() private returns (uint256 found) {
        closedVault = address(0);
        Vm.Log[] memory logs = vm.getRecordedLogs();
        for (uint256 i = 0; i < logs.length; ++i) {
            if (logs[i].topics[0] != IPaymentFactory.Closed.selector) continue;
            check(logs[i].emitter == address(factory), "of the factory");
            closedVault = address(uint160(uint256(logs[i].topics[1])));
            found++;
        }
    }

    function transferData() private view returns (bytes memory) {
        return abi.encodeCall(token.transfer, (MERCHANT, 0));
    }

    function test_Closed_isEmittedOnEveryChain_withAndWithoutCalls() public {
        vm.warp(EXPIRY + 1);
        for (uint256 i = 0; i < 8; ++i) {
            Intent memory intent = i % 2 == 0 ? plainIntent() : intentOf(new Call[](0));
            if (i / 2 % 2 == 0) intent.chainId = 2;
            if (i / 4 == 0) intent.amount = 0;
            address vault = factory.addressOf(intent);
            vm.expectEmit(true, true, true, true, address(factory));
            emit IPaymentFactory.Closed(vault);
            factory.recover(intent, list(address(token)));
        }
    }

    function test_executedOrClosed_aVaultBehavesTheSamePermanently(
        address caller,
        bytes calldata data
    ) public {
        vm.assume(caller != address(factory));
        for (uint256 executed = 0; executed < 2; ++executed) {
            vm.warp(NOW);
            Intent memory intent = plainIntent();
            address vault = funded(intent, AMOUNT);
            if (executed == 1) factory.execute(intent);
            vm.warp(EXPIRY + 1);
            factory.recover(intent, list(address(token)));
            equal(vault.code.length, executed == 1 ? 41 : 42, "bytes");

            vm.prank(caller);
            (bool ok, bytes memory answer) = vault.call(data);
            check(ok && answer.length == 0, "nothing for strangers");
            vm.deal(address(this), 3);
            // With a gas limit of 0, the call has only a stipend of 2,300 gas, like Solidity's
            // transfer().
            (ok,) = vault.call{value: 3, gas: 0}("");
            check(ok, "takes coin within the stipend of 2,300 gas");
            token.mint(vault, 5);
            uint256 before = token.balanceOf(RECOVERY);
            factory.recover(intent, list(address(token), NATIVE));
            equal(token.balanceOf(RECOVERY), before + 5, "recovers the token");
            equal(vault.balance, 0, "and the coin");
            token.mint(vault, 7);
            vm.prank(RECOVERY);
            factory.rescue(
                intent, address(token), 0, abi.encodeCall(token.transfer, (RECOVERY, 7))
            );
            equal(token.balanceOf(RECOVERY), before + 12, "rescues");
        }
    }

    function test_afterRecovery_theIntentNeverExecutes_andLateMoneyIsRecovered() public {
        Intent memory intent = plainIntent();
        address vault = funded(intent, AMOUNT);
        vm.warp(EXPIRY + 1);
        factory.recover(intent, list(address(token)));
        token.mint(vault, AMOUNT);
        vm.warp(EXPIRY);
        vm.expectRevert(abi.encodeCall(Errors.AlreadyOver, (vault)));
        factory.execute(intent);
        factory.recover(intent, list(address(token)));
        equal(token.balanceOf(RECOVERY), 2 * AMOUNT, "recovered");
    }
}

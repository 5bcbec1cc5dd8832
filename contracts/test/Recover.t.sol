// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Call, Intent, IPaymentFactory} from "../src/IPaymentFactory.sol";
import {Errors} from "./Errors.sol";
import {Fixture} from "./Fixture.sol";
import {Vm, vm} from "./Vm.sol";
import {PlainToken} from "./tokens/PlainToken.sol";
import {
    BlockingToken,
    BurningToken,
    FalseToken,
    HalfToken,
    SlowToken
} from "./tokens/OddTokens.sol";

contract RecoverTest is Fixture {
    function test_NotRecoverable_whileOpen_alsoInTheSecondOfExpiry() public {
        Intent memory intent = plainIntent();
        address vault = funded(intent, AMOUNT - 1);
        for (uint256 before = 0; before < 2; ++before) {
            vm.warp(EXPIRY - before);
            vm.expectRevert(
                abi.encodeCall(Errors.NotRecoverable, (vault, EXPIRY, EXPIRY - before))
            );
            factory.recover(intent, list(address(token)));
        }
    }

    function test_NotRecoverable_whileOpen_byRecoveryItself() public {
        Intent memory intent = plainIntent();
        address vault = funded(intent, AMOUNT);
        vm.prank(RECOVERY);
        vm.expectRevert(abi.encodeCall(Errors.NotRecoverable, (vault, EXPIRY, NOW)));
        factory.recover(intent, list(address(token)));
    }

    function test_NotCanonical_ifTheTokensPrecedeTheIntent() public {
        Intent memory intent = plainIntent();
        address vault = funded(intent, AMOUNT);
        vm.warp(EXPIRY + 1);
        // The calldata has the offset of the intent (128), the offset of the tokens (64), an array
        // of one token, and then the intent, without the offset that abi.encode writes before it.
        bytes memory data = bytes.concat(
            abi.encodeWithSelector(factory.recover.selector, 128, 64, 1, address(token)),
            withoutOffset(abi.encode(intent))
        );
        // Compares the error itself, because Foundry accepts an out-of-gas error as any expected
        // revert.
        (bool ok, bytes memory reason) = address(factory).call(data);
        bytes memory wanted = abi.encodeCall(Errors.NotCanonical, (132, 68));
        check(!ok && keccak256(reason) == keccak256(wanted), "refused");
        holds(vault, AMOUNT, 0);
    }

    function test_RecoveryFailed_ofABlockedToken_doesNotAffectOtherTokens() public {
        BlockingToken blocking = new BlockingToken();
        Intent memory intent = plainIntent();
        address vault = funded(intent, 2 * AMOUNT);
        blocking.mint(vault, 5);
        blocking.setBlocked(RECOVERY, true);
        factory.execute(intent);
        bytes memory reason = abi.encodeWithSelector(BlockingToken.Blocked.selector, RECOVERY);
        vm.expectEmit(true, true, true, true, address(factory));
        emit IPaymentFactory.RecoveryFailed(vault, address(blocking), reason);
        vm.expectEmit(true, true, true, true, address(factory));
        emit IPaymentFactory.Recovered(vault, address(token), AMOUNT);
        factory.recover(intent, list(address(blocking), address(token)));
        equal(blocking.balanceOf(vault), 5, "stays");
        blocking.setBlocked(RECOVERY, false);
        factory.recover(intent, list(address(blocking)));
        equal(blocking.balanceOf(RECOVERY), 5, "recovered later");
    }

    function test_blockedRecovery_neverBlocksTheExecution_exactOrOverpaid() public {
        BlockingToken blocking = new BlockingToken();
        blocking.setBlocked(RECOVERY, true);
        for (uint256 surplus = 0; surplus < 2; ++surplus) {
            Intent memory intent = intentOf(transferCall(address(blocking), MERCHANT, AMOUNT));
            intent.token = address(blocking);
            funded(intent, AMOUNT + surplus);
            factory.execute(intent);
        }
        equal(blocking.balanceOf(MERCHANT), 2 * AMOUNT, "paid");
    }

    /// @dev Assumption 10: money that `recovery` cannot receive stays, and all other money leaves.
    function test_blockedRecovery_afterExpiry_keepsOneToken_andOthersAreRecovered() public {
        BlockingToken blocking = new BlockingToken();
        blocking.setBlocked(RECOVERY, true);
        Intent memory intent = plainIntent();
        intent.token = address(blocking);
        address vault = funded(intent, AMOUNT);
        token.mint(vault, 3);
        vm.warp(EXPIRY + 1);
        factory.recover(intent, list(address(blocking), address(token)));
        equal(blocking.balanceOf(vault), AMOUNT, "waits");
        equal(token.balanceOf(RECOVERY), 3, "leaves");
    }

    function test_RecoveryFailed_ifTheTokenReturnsFalse() public {
        FalseToken falsy = new FalseToken();
        Intent memory intent = plainIntent();
        address vault = factory.addressOf(intent);
        falsy.mint(vault, 5);
        vm.warp(EXPIRY + 1);
        vm.expectEmit(true, true, true, true, address(factory));
        emit IPaymentFactory.RecoveryFailed(vault, address(falsy), abi.encode(false));
        factory.recover(intent, list(address(falsy)));
    }

    function test_RecoveryFailed_ifTheTokenReturnsTrueWithoutATransfer() public {
        IdleToken idle = new IdleToken();
        Intent memory intent = plainIntent();
        address vault = factory.addressOf(intent);
        idle.mint(vault, 2 ** 32 + 5);
        vm.warp(EXPIRY + 1);
        vm.expectEmit(true, true, true, true, address(factory));
        emit IPaymentFactory.RecoveryFailed(vault, address(idle), abi.encode(true));
        factory.recover(intent, list(address(idle)));
    }

    function test_RecoveryFailed_ifTheTransferReverts_evenIfTheBalanceSeemsToFall() public {
        FadingToken fading = new FadingToken();
        Intent memory intent = plainIntent();
        address vault = factory.addressOf(intent);
        vm.warp(EXPIRY + 1);
        vm.expectEmit(true, true, true, true, address(factory));
        emit IPaymentFactory.RecoveryFailed(vault, address(fading), "");
        factory.recover{gas: 1_000_000}(intent, list(address(fading)));
    }

    function test_theLastToken_receivesAllRemainingGas() public {
        SlowToken slow = new SlowToken();
        Intent memory intent = plainIntent();
        slow.mint(factory.addressOf(intent), 8);
        vm.warp(EXPIRY + 1);
        factory.recover{gas: 900_000}(intent, list(address(slow)));
        check(slow.slotOf(RECOVERY) == 4, "the slow one");
    }

    function test_RecoveryFailed_ifRecoveryRejectsNativeCoin() public {
        Intent memory intent = plainIntent();
        intent.recovery = address(token);
        address vault = factory.addressOf(intent);
        vm.deal(vault, 1 ether);
        vm.warp(EXPIRY + 1);
        vm.expectEmit(true, true, true, true, address(factory));
        emit IPaymentFactory.RecoveryFailed(vault, NATIVE, "");
        factory.recover(intent, list(NATIVE));
        equal(vault.balance, 1 ether, "stays");
    }

    function test_RecoveryFailed_ofATokenWithoutCode() public {
        Intent memory intent = plainIntent();
        address vault = funded(intent, AMOUNT);
        address nothing = address(0x70CE17);
        vm.warp(EXPIRY + 1);
        vm.expectEmit(true, true, true, true, address(factory));
        emit IPaymentFactory.RecoveryFailed(
            vault, nothing, abi.encodeCall(Errors.BalanceUnknown, (nothing, vault))
        );
        check(factory.recover(intent, list(nothing)) == vault, "answers with the vault");
    }

    function test_RecoveryFailed_ofATokenThatBurnsItsGas_doesNotAffectOtherTokens() public {
        for (uint256 i = 0; i < 2; ++i) {
            BurningToken burning = new BurningToken(i == 0);
            Intent memory intent = plainIntent();
            address vault = funded(intent, AMOUNT);
            burning.mint(vault, 5);
            vm.deal(vault, 7);
            vm.warp(EXPIRY + 1);
            address[] memory tokens = new address[](4);
            (tokens[0], tokens[1], tokens[2], tokens[3]) =
            (address(burning), address(token), address(burning), NATIVE);
            vm.expectEmit(true, true, true, false, address(factory));
            emit IPaymentFactory.RecoveryFailed(vault, address(burning), "");
            factory.recover{gas: 1_000_000}(intent, tokens);
            equal(token.balanceOf(RECOVERY), (i + 1) * AMOUNT, "the token");
            equal(RECOVERY.balance, (i + 1) * 7, "the coin");
        }
    }

    /// @dev The second token needs more than half of the gas.
    function test_gasThatOneTokenDoesNotUse_isAvailableToTheNext() public {
        SlowToken slow = new SlowToken();
        Intent memory intent = plainIntent();
        address vault = funded(intent, AMOUNT);
        slow.mint(vault, 8);
        vm.warp(EXPIRY + 1);
        factory.recover{gas: 1_300_000}(intent, list(address(token), address(slow)));
        equal(token.balanceOf(RECOVERY), AMOUNT, "the token");
        check(slow.slotOf(RECOVERY) == 4, "the slow one");
    }

    function test_aTokenThatMovesHalf_isRecoveredInParts_andEachPartIsReported() public {
        HalfToken half = new HalfToken();
        Intent memory intent = plainIntent();
        address vault = factory.addressOf(intent);
        half.mint(vault, 12);
        vm.warp(EXPIRY + 1);
        vm.expectEmit(true, true, true, true, address(factory));
        emit IPaymentFactory.Recovered(vault, address(half), 6);
        vm.expectEmit(true, true, true, true, address(factory));
        emit IPaymentFactory.Recovered(vault, address(half), 3);
        factory.recover(intent, list(address(half), address(half)));
        equal(half.balanceOf(RECOVERY), 9, "recovered");
        equal(half.balanceOf(vault), 3, "left");
    }

    function test_anExpiredIntentThatLacksOneUnit_isReturned() public {
        Intent memory intent = plainIntent();
        address vault = funded(intent, AMOUNT - 1);
        vm.warp(EXPIRY + 1);
        vm.expectEmit(true, true, true, true, address(factory));
        emit IPaymentFactory.Recovered(vault, address(token), AMOUNT - 1);
        vm.prank(STRANGER);
        factory.recover(intent, list(address(token)));
        equal(token.balanceOf(RECOVERY), AMOUNT - 1, "recovered");
        holds(vault, 0, 0);
    }

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

    /// @dev Counts the {Closed} events since the last call, and stores the vault of the last event.
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
            // With a gas limit of 0, the call has only the stipend of 2,300 gas, as with Solidity's
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

    function test_callsThatCanNeverSucceed_areReturnedAtExpiry() public {
        Intent memory intent = intentOf(plainCall(address(shop), "fail()", ""));
        funded(intent, AMOUNT);
        (bool ok,) = address(factory).call(abi.encodeCall(factory.execute, (intent)));
        check(!ok, "cannot execute");
        vm.warp(EXPIRY + 1);
        factory.recover(intent, list(address(token)));
        equal(token.balanceOf(RECOVERY), AMOUNT, "recovered");
        equal(shop.visits(), 0, "no call ran");
    }

    function test_onTheWrongChain_moneyIsReturnedImmediately_andTheRightChainIsUnaffected()
        public
    {
        Intent memory intent = plainIntent();
        intent.chainId = 8453;
        address vault = funded(intent, AMOUNT);
        factory.recover(intent, list(address(token)));
        equal(token.balanceOf(RECOVERY), AMOUNT, "recovered");
        holds(vault, 0, 0);
    }

    function test_chainIdChangedUnderTheFactory_fork_closesThere() public {
        Intent memory intent = plainIntent();
        funded(intent, AMOUNT);
        vm.chainId(10001);
        (bool ok,) = address(factory).call(abi.encodeCall(factory.execute, (intent)));
        check(!ok, "does not execute on the fork");
        factory.recover(intent, list(address(token)));
        equal(token.balanceOf(RECOVERY), AMOUNT, "recovered on the fork");
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

    function test_fundedAgainAfterExecution_onlyRecoveryReceives(address caller) public {
        Intent memory intent = plainIntent();
        address vault = funded(intent, AMOUNT);
        factory.execute(intent);
        token.mint(vault, AMOUNT);
        vm.prank(caller);
        factory.recover(intent, list(address(token)));
        holds(vault, 0, AMOUNT);
        equal(token.balanceOf(RECOVERY), AMOUNT, "recovered");
    }

    /// @dev The return data of a recovery address that receives coin is ignored, because only a
    /// token's transfer has a result.
    function test_nativeCoin_isRecovered_forAnyAnswerOfRecovery() public {
        Intent memory intent = plainIntent();
        intent.recovery = address(new FalseTaker());
        address vault = factory.addressOf(intent);
        vm.deal(vault, 1 ether);
        vm.warp(EXPIRY + 1);
        vm.expectEmit(true, true, true, true, address(factory));
        emit IPaymentFactory.Recovered(vault, NATIVE, 1 ether);
        factory.recover(intent, list(NATIVE));
        equal(intent.recovery.balance, 1 ether, "recovered");
    }

    function test_amountsWhoseLow32BitsAreZero_areRecovered() public {
        Intent memory intent = plainIntent();
        address vault = funded(intent, 2 ** 32);
        vm.warp(EXPIRY + 1);
        vm.expectEmit(true, true, true, true, address(factory));
        emit IPaymentFactory.Recovered(vault, address(token), 2 ** 32);
        factory.recover(intent, list(address(token)));
        equal(token.balanceOf(RECOVERY), 2 ** 32, "recovered");
    }

    function test_nativeCoin_isRecovered_ifSentBeforeOrAfter() public {
        Intent memory intent = plainIntent();
        address vault = funded(intent, AMOUNT);
        vm.deal(vault, 1 ether);
        factory.execute(intent);
        vm.deal(address(this), 2 ether);
        // With a gas limit of 0, the call has only the stipend of 2,300 gas, as with Solidity's
        // transfer().
        (bool ok,) = vault.call{value: 2 ether, gas: 0}("");
        check(ok, "a vault that is over takes coin within the stipend of 2,300 gas");
        vm.expectEmit(true, true, true, true, address(factory));
        emit IPaymentFactory.Recovered(vault, NATIVE, 3 ether);
        factory.recover(intent, list(NATIVE));
        equal(RECOVERY.balance, 3 ether, "recovered");
    }

    function test_anyOtherToken_isRecovered_evenIfNamedTwice() public {
        PlainToken other = new PlainToken();
        Intent memory intent = plainIntent();
        address vault = funded(intent, AMOUNT);
        other.mint(vault, 9);
        vm.expectRevert(abi.encodeCall(Errors.NotRecoverable, (vault, EXPIRY, NOW)));
        factory.recover(intent, list(address(other)));
        factory.execute(intent);
        vm.recordLogs();
        factory.recover(intent, list(address(other), address(other)));
        equal(vm.getRecordedLogs().length, 2, "one transfer, one event");
        equal(other.balanceOf(RECOVERY), 9, "recovered");
    }

    function test_aRecoveryIntoADifferentVault_paysThatVault() public {
        Intent memory second = plainIntent();
        Intent memory first = plainIntent();
        first.recovery = factory.addressOf(second);
        funded(first, AMOUNT);
        vm.warp(EXPIRY + 1);
        factory.recover(first, list(address(token)));
        equal(token.balanceOf(factory.addressOf(second)), AMOUNT, "in the second vault");
        factory.recover(second, list(address(token)));
        equal(token.balanceOf(RECOVERY), AMOUNT, "recovered from there");
    }

    function test_aDifferentVaultAsToken_isBalanceUnknown_andMovesNoMoney() public {
        Intent memory first = plainIntent();
        Intent memory second = plainIntent();
        address vault = funded(first, 2 * AMOUNT);
        funded(second, 2 * AMOUNT);
        factory.execute(first);
        factory.execute(second);
        address[2] memory named = [factory.addressOf(second), vault];
        for (uint256 i = 0; i < 2; ++i) {
            vm.expectEmit(true, true, true, true, address(factory));
            emit IPaymentFactory.RecoveryFailed(
                vault, named[i], abi.encodeCall(Errors.BalanceUnknown, (named[i], vault))
            );
            factory.recover(first, list(named[i]));
        }
        equal(token.balanceOf(named[0]), AMOUNT, "the second vault's");
        equal(token.balanceOf(vault), AMOUNT, "the first vault's");
    }
}

contract IdleToken is PlainToken {
    function transfer(address, uint256) public pure override returns (bool) {
        return true;
    }
}

/// @dev Uses the remaining gas as the balance, so a call with less gas returns a lower balance.
contract FadingToken {
    function balanceOf(address) external view returns (uint256) {
        return gasleft();
    }

    function transfer(address, uint256) external pure {
        revert();
    }
}

contract FalseTaker {
    fallback() external payable {
        assembly {
            mstore(0, 0)
            return(0, 32)
        }
    }
}

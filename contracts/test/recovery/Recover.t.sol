// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Intent, IPaymentFactory} from "../../src/IPaymentFactory.sol";
import {Errors} from "../Errors.sol";
import {Fixture} from "../Fixture.sol";
import {vm} from "../Vm.sol";
import {PlainToken} from "../tokens/PlainToken.sol";
import {HalfToken} from "../tokens/OddTokens.sol";

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
        // In the calldata, the list of tokens precedes the intent. The words of the arguments are
        // the intent's offset (128), the tokens' offset (64), a list of one token, and the intent.
        bytes memory data = bytes.concat(
            abi.encodeWithSelector(factory.recover.selector, 128, 64, 1, address(token)),
            withoutOffset(abi.encode(intent))
        );
        // Compares the whole error, because expectRevert of Foundry also accepts an out-of-gas
        // error.
        (bool ok, bytes memory reason) = address(factory).call(data);
        bytes memory wanted = abi.encodeCall(Errors.NotCanonical, (132, 68));
        check(!ok && keccak256(reason) == keccak256(wanted), "refused");
        holds(vault, AMOUNT, 0);
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

    /// @dev If `recovery` is a contract that receives native coin, the factory ignores its return
    /// data. The factory checks the return data only for transfers of tokens.
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
        // With a gas limit of 0, the call has only a stipend of 2,300 gas, like Solidity's
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
}

contract FalseTaker {
    fallback() external payable {
        assembly {
            mstore(0, 0)
            return(0, 32)
        }
    }
}

// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Intent, IPaymentFactory} from "../../src/IPaymentFactory.sol";
import {Errors} from "../Errors.sol";
import {Fixture} from "../Fixture.sol";
import {vm} from "../Vm.sol";
import {PlainToken} from "../tokens/PlainToken.sol";
import {BlockingToken, BurningToken, FalseToken, SlowToken} from "../tokens/OddTokens.sol";

/// @dev A failed recovery of one token is reported, and does not affect the other tokens.
contract RecoveryFailedTest is Fixture {
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

    /// @dev Assumption 10: a token that `recovery` cannot receive stays in the vault. Other tokens
    /// are still sent.
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

/// @dev Returns the remaining gas as the balance, so calls with less gas read a lower balance.
contract FadingToken {
    function balanceOf(address) external view returns (uint256) {
        return gasleft();
    }

    function transfer(address, uint256) external pure {
        revert();
    }
}

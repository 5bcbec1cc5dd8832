// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Call, Intent, IPaymentFactory} from "../src/IPaymentFactory.sol";
import {Errors} from "./Errors.sol";
import {Fixture} from "./Fixture.sol";
import {Vm, vm} from "./Vm.sol";
import {ForgivingHookToken, HookToken, ObligingHookToken} from "./tokens/OddTokens.sol";

/// @dev Calls the factory again during a call of the factory (reentrancy). An intent's call, a
/// token's hook, or a transfer of native coin triggers this attack.
contract Attacker {
    address private immutable FACTORY;
    bytes[] private attempts;
    /// @notice The reasons of the failed attempts, in order.
    bytes[] public reasons;
    /// @notice One bit for each successful attempt; the lowest bit is the first attempt.
    uint256 public succeeded;
    uint256 public count;
    uint256 private depth;
    bool private whenMoved;
    uint256 public gasMax;

    constructor(address factory) {
        FACTORY = factory;
        gasMax = 1_000_000;
    }

    function attempt(bytes memory data) external {
        attempts.push(data);
    }

    function setWhenMoved(bool whenMoved_) external {
        whenMoved = whenMoved_;
    }

    function attack() public {
        if (depth != 0) return;
        depth++;
        for (uint256 i = 0; i < attempts.length; ++i) {
            (bool ok, bytes memory reason) = FACTORY.call{gas: gasMax}(attempts[i]);
            if (ok) succeeded |= 1 << i;
            else reasons.push(reason);
            count++;
        }
        depth--;
    }

    function onMove(address, address, uint256, bool moved) external {
        if (moved == whenMoved) attack();
    }

    receive() external payable {
        attack();
    }
}

contract ReentrancyTest is Fixture {
    Attacker private attacker;
    HookToken private hooked;

    uint256 private constant EXECUTE = 1;
    uint256 private constant RECOVER = 2;
    uint256 private constant BATCH = 4;
    uint256 private constant RESCUE = 8;

    function setUp() public override {
        super.setUp();
        attacker = new Attacker(address(factory));
        hooked = new HookToken();
        token = hooked;
    }

    /// @dev Calls all four functions for `intent` as the attacker.
    function arm(Intent memory intent) private {
        attacker.attempt(abi.encodeCall(factory.execute, (intent)));
        attacker.attempt(abi.encodeCall(factory.recover, (intent, list(address(token)))));
        attacker.attempt(abi.encodeCall(factory.batch, (list(execution(intent)))));
        bytes memory theft = abi.encodeCall(token.transfer, (address(attacker), 1));
        attacker.attempt(abi.encodeCall(factory.rescue, (intent, address(token), 0, theft)));
    }

    function attackIntent(address recovery) private returns (Intent memory intent) {
        Call memory attack = plainCall(address(attacker), "attack()", "");
        intent = intentOf(list(attack, transferCall(MERCHANT, AMOUNT)));
        intent.recovery = recovery;
    }

    function test_reentryFromATarget_intoTheSameIntent_alwaysFails() public {
        Intent memory intent = attackIntent(address(attacker));
        address vault = funded(intent, 2 * AMOUNT);
        arm(intent);
        factory.execute(intent);
        // Only the batch succeeds, because a failing item does not revert a batch.
        equal(attacker.succeeded(), BATCH, "succeeded");
        equal(attacker.count(), 4, "attempts");
        holds(vault, AMOUNT, AMOUNT);
        bytes memory stillOpen = abi.encodeCall(Errors.NotRecoverable, (vault, EXPIRY, NOW));
        sameBytes(attacker.reasons(0), abi.encodeCall(Errors.CreationFailed, (vault)), "execute");
        sameBytes(attacker.reasons(1), stillOpen, "recover");
        sameBytes(attacker.reasons(2), stillOpen, "rescue");
    }

    function test_reentryFromATarget_intoTheSameIntent_byABatch_fails() public {
        Intent memory intent = attackIntent(address(attacker));
        address vault = funded(intent, 2 * AMOUNT);
        arm(intent);
        bytes memory item = execution(intent);
        factory.batch{gas: 20_000_000}(list(item, item, item));
        equal(attacker.succeeded(), BATCH, "succeeded");
        holds(vault, AMOUNT, AMOUNT);
    }

    /// @dev A target calls `execute` again while the vault is being created. The second creation
    /// fails, and burns only the gas that the target passed to its call.
    function test_CreationFailed_burnsOnlyTheGasThatTheTargetGives() public {
        Intent memory intent = attackIntent(address(attacker));
        funded(intent, AMOUNT);
        arm(intent);
        uint256 before = gasleft();
        factory.execute(intent);
        check(before - gasleft() < 2_500_000, "two attempts of a million gas each");
    }

    function test_reentryFromATarget_intoADifferentIntent_runsAsUsual() public {
        Intent memory second = plainIntent();
        address secondVault = funded(second, AMOUNT + 5);
        attacker.attempt(abi.encodeCall(factory.execute, (second)));
        attacker.attempt(abi.encodeCall(factory.recover, (second, list(address(token)))));
        Intent memory intent = attackIntent(RECOVERY);
        address vault = funded(intent, AMOUNT);
        factory.execute(intent);
        equal(attacker.succeeded(), EXECUTE | RECOVER, "succeeded");
        equal(token.balanceOf(MERCHANT), 2 * AMOUNT, "each paid once");
        equal(token.balanceOf(RECOVERY), 5, "surplus to its recovery");
        equal(token.balanceOf(vault) + token.balanceOf(secondVault), 0, "left");
    }

    function test_reentryFromAHook_duringExecution_alwaysFails(bool whenMoved) public {
        Intent memory intent = plainIntent();
        intent.recovery = address(attacker);
        address vault = funded(intent, 2 * AMOUNT);
        arm(intent);
        hooked.setHook(address(attacker));
        attacker.setWhenMoved(whenMoved);
        factory.execute(intent);
        equal(attacker.succeeded(), BATCH, "succeeded");
        equal(attacker.count(), 4, "attempts");
        holds(vault, AMOUNT, AMOUNT);
    }

    function test_reentryFromAHook_duringRecovery_paysOnlyRecovery_once(bool whenMoved) public {
        Intent memory intent = plainIntent();
        address vault = funded(intent, AMOUNT);
        vm.warp(EXPIRY + 1);
        arm(intent);
        hooked.setHook(address(attacker));
        attacker.setWhenMoved(whenMoved);
        vm.recordLogs();
        factory.recover(intent, list(address(token)));
        // If the hook calls `recover` before the token has moved the balance, the token's own
        // transfer fails. The failure also reverts the hook's recovery.
        uint256 recovered = whenMoved ? AMOUNT : 0;
        equal(token.balanceOf(RECOVERY), recovered, "recovered");
        holds(vault, AMOUNT - recovered, 0);
        // Skips the events if a recovery was reverted, because Foundry also records reverted
        // events.
        if (whenMoved) equal(recoveredInEvents(vault), recovered, "the events' sum");
        check(attacker.succeeded() & (EXECUTE | RESCUE) == 0, "neither executes nor rescues");
    }

    /// @dev The token's hook recovers the vault during a transfer, and the transfer then returns
    /// false.
    function test_reentryFromAHook_duringRecovery_isReportedOnce_ifTheTokenReturnsFalse() public {
        equal(toldByAHookThatRecovers(new ForgivingHookToken()), AMOUNT, "the events' sum");
    }

    /// @dev If the transfer returns true, two events report one movement, as the interface
    /// documents.
    function test_reentryFromAHook_duringRecovery_isReportedTwice_ifTheTokenReturnsTrue() public {
        equal(toldByAHookThatRecovers(new ObligingHookToken()), 2 * AMOUNT, "the events' sum");
    }

    /// @dev Recovers a token that calls a hook. The hook also calls `recover` for this token.
    /// Returns the sum of the amounts in the {Recovered} events.
    function toldByAHookThatRecovers(HookToken sent) private returns (uint256) {
        Intent memory intent = plainIntent();
        address vault = factory.addressOf(intent);
        sent.mint(vault, AMOUNT);
        vm.warp(EXPIRY + 1);
        attacker.attempt(abi.encodeCall(factory.recover, (intent, list(address(sent)))));
        sent.setHook(address(attacker));
        vm.recordLogs();
        factory.recover(intent, list(address(sent)));
        equal(attacker.succeeded(), 1, "by the hook");
        equal(sent.balanceOf(RECOVERY), AMOUNT, "recovered, once");
        equal(sent.balanceOf(vault), 0, "left");
        return recoveredInEvents(vault);
    }

    function test_reentryFromRecovery_whileItReceivesNativeCoin_isCountedOnce() public {
        Intent memory intent = plainIntent();
        intent.recovery = address(attacker);
        address vault = funded(intent, AMOUNT);
        vm.deal(vault, 1 ether);
        vm.warp(EXPIRY + 1);
        attacker.attempt(abi.encodeCall(factory.recover, (intent, list(NATIVE, address(token)))));
        vm.recordLogs();
        factory.recover(intent, list(NATIVE, address(token)));
        equal(address(attacker).balance, 1 ether, "coin");
        equal(recoveredInEvents(vault), 1 ether + AMOUNT, "the events' sum");
    }

    function test_rescueWithinRescue_runsForRecovery() public {
        Intent memory intent = plainIntent();
        intent.recovery = address(attacker);
        address vault = funded(intent, 2 * AMOUNT);
        factory.execute(intent);
        arm(intent);
        vm.prank(address(attacker));
        factory.rescue(intent, address(attacker), 0, abi.encodeCall(Attacker.attack, ()));
        check(attacker.succeeded() & EXECUTE == 0, "never executes again");
        equal(token.balanceOf(vault), 0, "recovered");
        equal(token.balanceOf(address(attacker)), AMOUNT, "to recovery");
    }

    function recoveredInEvents(address vault) private returns (uint256 sum) {
        Vm.Log[] memory logs = vm.getRecordedLogs();
        for (uint256 i = 0; i < logs.length; ++i) {
            if (logs[i].topics[0] != IPaymentFactory.Recovered.selector) continue;
            check(logs[i].topics[1] == bytes32(uint256(uint160(vault))), "of this vault");
            sum += abi.decode(logs[i].data, (uint256));
        }
    }
}

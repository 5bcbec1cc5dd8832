// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Call, Intent, IPaymentFactory} from "../src/IPaymentFactory.sol";
import {Errors} from "./Errors.sol";
import {Fixture} from "./Fixture.sol";
import {Vm, vm} from "./Vm.sol";
import {LyingToken, SlowToken} from "./tokens/OddTokens.sol";

/// @dev Tests the effects of the gas limit that a caller chooses, and of a target's gas usage.
contract GasTest is Fixture {
    function test_lowGas_isAllOrNothing_atEveryStep() public {
        Call[] memory calls = list(
            approveCall(address(token), address(shop), AMOUNT), payCall(address(token), AMOUNT)
        );
        bool executed;
        for (uint256 gas = 50_000; gas < 400_000; gas += 1_009) {
            Intent memory intent = intentOf(calls);
            address vault = funded(intent, AMOUNT);
            uint256 sold = token.balanceOf(address(shop));
            (bool ok,) = address(factory).call{gas: gas}(abi.encodeCall(factory.execute, (intent)));
            check(ok || !executed, "more gas never does worse");
            executed = executed || ok;
            equal(token.balanceOf(address(shop)), sold + (ok ? AMOUNT : 0), "sold");
            equal(token.balanceOf(vault), ok ? 0 : AMOUNT, "left");
            equal(token.allowance(vault, address(shop)), 0, "allowance");
            check((vault.code.length != 0) == ok, "over as it went");
        }
        check(executed, "enough gas executes");
    }

    function test_lowGas_inABatch_itemsAreAllOrNothing() public {
        for (uint256 gas = 60_000; gas < 700_000; gas += 5_003) {
            address[] memory vaults = new address[](3);
            bytes[] memory items = new bytes[](3);
            for (uint256 i = 0; i < 3; ++i) {
                Intent memory intent = plainIntent();
                vaults[i] = funded(intent, AMOUNT);
                items[i] = execution(intent);
            }
            uint256 before = token.balanceOf(MERCHANT);
            (bool ok,) = address(factory).call{gas: gas}(abi.encodeCall(factory.batch, (items)));
            uint256 paid;
            for (uint256 i = 0; i < 3; ++i) {
                address vault = vaults[i];
                bool over = vault.code.length != 0;
                check(ok || !over, "a batch that reverts does nothing");
                equal(token.balanceOf(vault), over ? 0 : AMOUNT, "left");
                if (over) paid += AMOUNT;
            }
            equal(token.balanceOf(MERCHANT), before + paid, "paid");
        }
    }

    function test_lowGas_duringRecover_movesAllToRecoveryOrNothing() public {
        vm.warp(EXPIRY + 1);
        for (uint256 gas = 30_000; gas < 250_000; gas += 1_009) {
            Intent memory intent = plainIntent();
            address vault = funded(intent, AMOUNT);
            uint256 before = token.balanceOf(RECOVERY);
            (bool ok,) = address(factory).call{gas: gas}(
                abi.encodeCall(factory.recover, (intent, list(address(token))))
            );
            ok;
            uint256 left = token.balanceOf(vault);
            check(left == 0 || left == AMOUNT, "all or nothing");
            equal(token.balanceOf(RECOVERY), before + AMOUNT - left, "recovered");
        }
    }

    /// @dev The caller chooses the gas limit. Regardless of the limit, the factory never reports a
    /// balance that it did not read.
    function test_lowGas_duringTheSecondBalanceRead_neverResultsInAWrongBalance() public {
        SlowToken slow = new SlowToken();
        token = slow;
        bool unknown;
        bool executed;
        for (uint256 gas = 300_000; gas < 2_000_000; gas += 9_001) {
            Intent memory intent = plainIntent();
            address vault = factory.addressOf(intent);
            slow.mint(vault, AMOUNT);
            vm.recordLogs();
            (bool ok, bytes memory reason) =
                address(factory).call{gas: gas}(abi.encodeCall(factory.execute, (intent)));
            unknown = unknown || bytes4(reason) == Errors.BalanceUnknown.selector;
            if (!ok) continue;
            executed = true;
            (uint256 held, uint256 left) = abi.decode(lastData(vault), (uint256, uint256));
            equal(held, AMOUNT, "held");
            equal(left, slow.slotOf(vault), "left");
        }
        check(unknown && executed, "both happened");
    }

    function test_lowGas_duringRecover_neverResultsInAWrongAmount() public {
        SlowToken slow = new SlowToken();
        vm.warp(EXPIRY + 1);
        bool failed;
        bool recovered;
        for (uint256 gas = 300_000; gas < 2_000_000; gas += 9_001) {
            Intent memory intent = plainIntent();
            address vault = factory.addressOf(intent);
            slow.mint(vault, AMOUNT);
            vm.recordLogs();
            (bool ok,) = address(factory).call{gas: gas}(
                abi.encodeCall(factory.recover, (intent, list(address(slow))))
            );
            if (!ok) continue;
            uint256 moved = AMOUNT - slow.slotOf(vault);
            bytes memory data = lastData(vault);
            if (data.length == 32) equal(abi.decode(data, (uint256)), moved, "recovered");
            else equal(moved, 0, "failed: nothing moved");
            if (data.length == 32) recovered = true;
            else failed = true;
        }
        check(failed && recovered, "both happened");
    }

    /// @dev Returns the data of the last log, and checks that the log is an event about `vault`.
    function lastData(address vault) private returns (bytes memory) {
        Vm.Log[] memory logs = vm.getRecordedLogs();
        Vm.Log memory log = logs[logs.length - 1];
        check(log.emitter == address(factory), "of the factory");
        check(log.topics[1] == bytes32(uint256(uint160(vault))), "of this vault");
        return log.data;
    }

    /// @dev A target gets all available gas. The available gas does not include about 39,200 gas
    /// that is used before the call. Each of the three frames above the target also keeps a 64th of
    /// its gas (EIP-150).
    function test_aCall_receivesAllAvailableGas() public {
        GasMeter meter = new GasMeter();
        Intent memory intent = intentOf(plainCall(address(meter), "look()", ""));
        funded(intent, AMOUNT);
        factory.execute{gas: 3_000_000}(intent);
        uint256 spentBefore = 39_200;
        uint256 least = (3_000_000 - spentBefore) * 63 ** 3 / 64 ** 3;
        check(meter.seen() > least && meter.seen() < least + 500, "all there is");
    }

    function test_returnBombOf1MB_fromATarget_costsOnlyTheTarget() public {
        bytes memory args = abi.encode(1_000_000, true);
        Intent memory intent = intentOf(plainCall(address(shop), "bomb(uint256,bool)", args));
        funded(intent, AMOUNT);
        uint256 before = gasleft();
        shop.bomb(1_000_000, true);
        uint256 own = before - gasleft();
        before = gasleft();
        factory.execute(intent);
        check(before - gasleft() < own / 2 + 2_300_000, "is not copied again");
    }

    function test_returnBombOf1MB_fromATokenInRecover_doesNotAffectOtherTokens() public {
        LyingToken bomb = new LyingToken();
        bomb.lie(5, 1_000_000, false);
        Intent memory intent = plainIntent();
        address vault = funded(intent, AMOUNT);
        vm.warp(EXPIRY + 1);
        vm.expectEmit(true, true, true, false, address(factory));
        emit IPaymentFactory.RecoveryFailed(vault, address(bomb), "");
        factory.recover{gas: 12_000_000}(intent, list(address(bomb), address(token)));
        equal(token.balanceOf(RECOVERY), AMOUNT, "recovered");
    }

    function test_returnBombOf1MB_fromRecoveryReceivingNativeCoin_doesNotAffectTokens() public {
        Intent memory intent = plainIntent();
        intent.recovery = address(new CoinBomb());
        address vault = funded(intent, AMOUNT);
        vm.deal(vault, 1);
        vm.warp(EXPIRY + 1);
        factory.recover{gas: 12_000_000}(intent, list(NATIVE, address(token)));
        equal(token.balanceOf(intent.recovery), AMOUNT, "recovered");
        equal(intent.recovery.balance, 1, "coin");
    }

    function test_tokensThatLieAboutBalances_neverMoveOtherTokens(
        uint256 claimed,
        uint8 size,
        bool reverts
    ) public {
        LyingToken liar = new LyingToken();
        liar.lie(claimed, size, reverts);
        Intent memory intent = plainIntent();
        address vault = funded(intent, AMOUNT);
        vm.warp(EXPIRY + 1);
        factory.recover(intent, list(address(liar), address(token)));
        equal(token.balanceOf(RECOVERY), AMOUNT, "recovered");
        holds(vault, 0, 0);
    }

    function test_anIntentOfALyingToken_movesNoOtherToken(
        uint256 claimed,
        uint8 size,
        bool reverts
    ) public {
        LyingToken liar = new LyingToken();
        liar.lie(claimed, size, reverts);
        Intent memory intent = plainIntent();
        intent.token = address(liar);
        address vault = factory.addressOf(intent);
        (bool ok,) = address(factory).call(abi.encodeCall(factory.execute, (intent)));
        check(!ok, "its call of the real token fails, for the vault holds none");
        equal(vault.code.length, 0, "open");
    }
}

contract CoinBomb {
    receive() external payable {
        assembly {
            return(0, 1000000)
        }
    }
}

contract GasMeter {
    uint256 public seen;

    function look() external {
        seen = gasleft();
    }
}

// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Call, Intent} from "../src/IPaymentFactory.sol";
import {Errors} from "./Errors.sol";
import {Fixture} from "./Fixture.sol";
import {vm} from "./Vm.sol";
import {Tolerant} from "./targets/Tolerant.sol";

/// @dev The caller chooses the gas limit. A low limit can make an inner call of a target fail. The
/// factory must revert the execution even if the target ignores this failure (assumption 3 of the
/// interface).
contract StarvedTest is Fixture {
    Tolerant private tolerant;
    uint256 private swallowed;
    uint256 private refused;
    uint256 private executed;

    function setUp() public override {
        super.setUp();
        tolerant = new Tolerant();
    }

    function test_TooLittleGas_at360Limits_beforeATargetCanSwallowAnInnerFailure() public {
        uint256[8] memory items = [uint256(1), 2, 5, 10, 20, 40, 70, 100];
        // The default stride tests 360 gas limits. Mutation runs use a larger stride.
        uint256 stride = vm.envOr("LADDER_STRIDE", 5_000);
        for (uint256 gas = 200_000; gas < 2_000_000; gas += stride) {
            uint256 step = gas / stride;
            for (uint256 depth = 1; depth <= 5; ++depth) {
                _try(gas, _top(depth, items[step % 8]), items[step % 8]);
                _try(gas, _top(depth, items[(step + 3) % 8]), items[(step + 3) % 8]);
                _try(gas, _everywhere(depth, items[(step + 5) % 8]), items[(step + 5) % 8]);
            }
        }
        equal(swallowed, 0, "swallowed");
        check(refused > 20 && executed > 20, "both happened");
    }

    /// @dev The gas floor covers a depth of at most 17, because 1 - (63/64)^18 is less than a
    /// quarter and 1 - (63/64)^19 is more.
    function test_TooLittleGas_coversWork17FramesDeep() public {
        uint256 stride = 3 * vm.envOr("LADDER_STRIDE", 5_000) / 2;
        for (uint256 gas = 200_000; gas < 1_500_000; gas += stride) {
            for (uint256 depth = 6; depth <= 17; ++depth) {
                _try(gas, _top(depth, 20), 20);
            }
        }
        equal(swallowed, 0, "swallowed");
        check(refused > 20 && executed > 20, "both happened");
    }

    /// @dev The gas floor does not protect work that is nested too deeply. It also does not protect
    /// work that gets only a share of the gas. The interface documents both cases.
    function test_deeperWork_orWorkWithAShareOfTheGas_canBeStarved() public {
        for (uint256 gas = 200_000; gas < 1_500_000; gas += 7_919) {
            _try(gas, _top(60, 20), 20);
        }
        check(swallowed != 0, "60 frames below");
        swallowed = 0;
        for (uint256 gas = 200_000; gas < 1_500_000; gas += 7_919) {
            _try(gas, _call("tryWorkWithHalf(uint256)", abi.encode(20)), 20);
        }
        check(swallowed != 0, "given half");
    }

    /// @dev The gas floor applies only to the calls of an intent. It does not protect a `recovery`
    /// contract that receives native coin (assumption 10 of the interface).
    function test_aRecoveryThatReceivesNativeCoin_canBeStarved_becauseRecoverHasNoFloor() public {
        TolerantTaker taker = new TolerantTaker(tolerant);
        vm.warp(EXPIRY + 1);
        bool starved;
        bool done;
        for (uint256 gas = 150_000; gas < 1_500_000; gas += 50_000) {
            Intent memory intent = intentOf(new Call[](0));
            intent.recovery = address(taker);
            address vault = factory.addressOf(intent);
            vm.deal(vault, 1);
            uint256 before = tolerant.done();
            factory.recover{gas: gas}(intent, list(NATIVE));
            if (vault.balance == 0 && tolerant.done() == before) starved = true;
            if (vault.balance == 0 && tolerant.done() == before + 20) done = true;
        }
        check(starved, "the coin arrives without the work");
        check(done, "and with it, given more gas");
    }

    function test_TooLittleGas_namesTheCall_andLeavesTheIntentOpen() public {
        Call[] memory calls = list(_top(1, 0), _top(1, 40));
        Intent memory intent = intentOf(calls);
        address vault = funded(intent, AMOUNT);
        bytes memory data = abi.encodeCall(factory.execute, (intent));
        bytes memory wanted = abi.encodeCall(Errors.TooLittleGas, (1, address(tolerant)));
        bool told;
        for (uint256 gas = 300_000; gas < 900_000 && !told; gas += 5_000) {
            (bool ok, bytes memory reason) = address(factory).call{gas: gas}(data);
            check(!ok, "not executed before");
            told = keccak256(reason) == keccak256(wanted);
        }
        check(told, "TooLittleGas of the second call");
        equal(vault.code.length + tolerant.visits() + tolerant.done(), 0, "nothing of it remains");
        factory.execute{gas: 2_000_000}(intent);
        equal(tolerant.done(), 40, "done with more");
    }

    /// @dev A call must leave a quarter of its gas, so it needs 4/3 of the gas that it uses. Two
    /// frames are above the call: the vault's init code and its DELEGATECALL. Each gets only 63/64
    /// of the gas. The product of these factors, 4/3 * (64/63)^2, is less than 7/5. The
    /// additional 110,000 gas pays for the factory's own work.
    function test_twoFifthsMoreGasThanTheCallsUse_isEnough() public {
        for (uint256 items = 1; items <= 100; items += 9) {
            uint256 before = gasleft();
            tolerant.tryWork(3, items);
            uint256 used = before - gasleft();
            _try(used * 7 / 5 + 110_000, _top(3, items), items);
        }
        equal(executed, 12, "executed");
    }

    function _top(uint256 depth, uint256 items) private view returns (Call memory) {
        return _call("tryWork(uint256,uint256)", abi.encode(depth, items));
    }

    function _everywhere(uint256 depth, uint256 items) private view returns (Call memory) {
        return _call("tryWorkEverywhere(uint256,uint256)", abi.encode(depth, items));
    }

    function _call(string memory signature, bytes memory args) private view returns (Call memory) {
        return plainCall(address(tolerant), signature, args);
    }

    function _try(uint256 gas, Call memory one, uint256 items) private {
        Intent memory intent = intentOf(one);
        funded(intent, AMOUNT);
        uint256 before = tolerant.done();
        (bool ok, bytes memory reason) =
            address(factory).call{gas: gas}(abi.encodeCall(factory.execute, (intent)));
        if (!ok && bytes4(reason) == Errors.TooLittleGas.selector) refused++;
        if (ok && tolerant.done() == before + items) executed++;
        if (ok && tolerant.done() != before + items) swallowed++;
    }
}

/// @notice Receives native coin, and then makes a call. Ignores a failure of this call.
contract TolerantTaker {
    Tolerant private immutable TOLERANT;

    constructor(Tolerant tolerant) {
        TOLERANT = tolerant;
    }

    receive() external payable {
        try TOLERANT.work(0, 20) {} catch {}
    }
}

// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Conditions} from "../../periphery/Conditions.sol";
import {Fate, Outcome} from "../../periphery/Outcome.sol";
import {CLOSED_CODE_HASH, EXECUTED_CODE_HASH, FACTORY} from "../../periphery/VaultCode.sol";
import {Intent} from "../../src/IPaymentFactory.sol";
import {Fixture} from "../Fixture.sol";
import {vm} from "../Vm.sol";

/// @dev Tests how the code at a vault shows the outcome of its intent. Also tests conditions that
/// check this outcome.
contract OutcomeTest is Fixture {
    Conditions private conditions = new Conditions();

    function test_itsFactory_equalsTheSnapshot() public view {
        check(FACTORY == address(factory), "the factory");
    }

    function test_anOpenOrExpiredIntent_orAnAccount_hasNoOutcome(address account) public {
        Intent memory intent = plainIntent();
        address vault = funded(intent, AMOUNT);
        check(Outcome.outcomeOf(vault) == Fate.Never, "open");
        vm.warp(EXPIRY + 1);
        check(Outcome.outcomeOf(vault) == Fate.Never, "expired");
        check(Outcome.outcomeOf(account) == Fate.Never, "an account");
        check(Outcome.outcomeOf(address(factory)) == Fate.Never, "the factory");
    }

    /// @dev The number of calls of {otherCodes} in each run of the fuzzer. Each of these calls
    /// tests five codes. With 256 runs, the long test covers 102,400 codes.
    uint256 private constant CODES_PER_RUN = 80;

    function test_anyOtherCode_hasNoOutcome(bytes calldata code, uint256 seed) public {
        // Skips code that begins with the prefix of an EIP-7702 delegation, because Foundry rejects
        // invalid delegations.
        vm.assume(bytes2(code) != 0xef01);
        for (uint256 i = 0; i < CODES_PER_RUN; ++i) {
            otherCodes(code, uint256(keccak256(abi.encode(seed, i))));
        }
    }

    /// @dev Code with one changed bit, shorter and longer code, and random code.
    function otherCodes(bytes calldata code, uint256 seed) private {
        bytes memory executed = executedCode();
        executed[seed % executed.length] ^= bytes1(uint8(1 << ((seed >> 16) % 8)));
        bytes memory closed = bytes.concat(executedCode(), hex"00");
        closed[(seed >> 32) % closed.length] ^= bytes1(uint8(1 << ((seed >> 48) % 8)));
        bytes memory cut = executedCode();
        uint256 length = (seed >> 64) % cut.length;
        assembly {
            mstore(cut, length)
        }
        bytes memory longer = bytes.concat(executedCode(), hex"00", code, bytes1(uint8(seed)));
        bytes[5] memory codes =
            [bytes.concat(code, bytes8(uint64(seed >> 80))), executed, closed, cut, longer];
        for (uint256 i = 0; i < codes.length; ++i) {
            vm.etch(address(0xABCDEF), codes[i]);
            check(Outcome.outcomeOf(address(0xABCDEF)) == Fate.Never, "another code");
        }
    }

    function test_executedAndClosed_arePermanent() public {
        Intent memory intent = plainIntent();
        address executed = funded(intent, AMOUNT);
        factory.execute(intent);
        Intent memory other = plainIntent();
        address closed = funded(other, AMOUNT);
        vm.warp(EXPIRY + 1);
        factory.recover(other, list(address(token)));
        factory.recover(intent, list(address(token)));
        check(Outcome.outcomeOf(executed) == Fate.Executed, "executed");
        check(Outcome.outcomeOf(closed) == Fate.Closed, "closed");
        check(executed.codehash == EXECUTED_CODE_HASH, "its hash");
        check(closed.codehash == CLOSED_CODE_HASH, "its hash");
    }

    function test_NotExecuted_ifTheIntentIsOpenOrClosed() public {
        Intent memory first = plainIntent();
        address vault = factory.addressOf(first);
        bytes memory wanted = abi.encodeCall(ConditionErrors.NotExecuted, (vault, Fate.Never));
        vm.expectRevert(wanted);
        conditions.requireExecuted(vault);
        vm.warp(EXPIRY + 1);
        vm.expectRevert(wanted);
        conditions.requireExecuted(vault);
        factory.recover(first, list(address(token)));
        vm.expectRevert(abi.encodeCall(ConditionErrors.NotExecuted, (vault, Fate.Closed)));
        conditions.requireExecuted(vault);
    }

    function test_NotClosed_ifTheIntentIsOpenOrExecuted() public {
        Intent memory first = plainIntent();
        address vault = funded(first, AMOUNT);
        vm.expectRevert(abi.encodeCall(ConditionErrors.NotClosed, (vault, Fate.Never)));
        conditions.requireClosed(vault);
        factory.execute(first);
        vm.expectRevert(abi.encodeCall(ConditionErrors.NotClosed, (vault, Fate.Executed)));
        conditions.requireClosed(vault);
    }

    /// @dev Intent B runs only after intent A. Intent C runs only if intent A can never run.
    function test_anIntent_waitsForADifferentIntent() public {
        Intent memory a = plainIntent();
        address vaultA = funded(a, AMOUNT);
        Intent memory b = after_("requireExecuted(address)", vaultA);
        Intent memory c = after_("requireClosed(address)", vaultA);
        check(!runs(b) && !runs(c), "neither while A is open");
        factory.execute(a);
        check(runs(b) && !runs(c), "A, then B");
    }

    function test_anIntent_runsIfADifferentIntentWasClosed() public {
        Intent memory a = plainIntent();
        a.expirationTimestamp = uint64(NOW + 1);
        address vaultA = factory.addressOf(a);
        Intent memory b = after_("requireExecuted(address)", vaultA);
        Intent memory c = after_("requireClosed(address)", vaultA);
        vm.warp(NOW + 2);
        check(!runs(b) && !runs(c), "nobody closed A yet");
        factory.recover(a, new address[](0));
        check(!runs(b) && runs(c), "A, else C");
    }

    function after_(string memory condition, address vault)
        private
        returns (Intent memory intent)
    {
        intent = intentOf(
            list(
                plainCall(address(conditions), condition, abi.encode(vault)),
                transferCall(MERCHANT, AMOUNT)
            )
        );
        funded(intent, AMOUNT);
    }

    function runs(Intent memory intent) private returns (bool ok) {
        (ok,) = address(factory).call(abi.encodeCall(factory.execute, (intent)));
    }
}

/// @dev The errors as functions, so that tests can encode expected errors with abi.encodeCall.
interface ConditionErrors {
    function NotExecuted(address vault, Fate found) external;
    function NotClosed(address vault, Fate found) external;
}

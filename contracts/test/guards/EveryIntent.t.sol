// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Call, Intent, IPaymentFactory} from "../../src/IPaymentFactory.sol";
import {Errors} from "../Errors.sol";
import {Fixture} from "../Fixture.sol";
import {Internals} from "../Internals.t.sol";
import {vm} from "../Vm.sol";

/// @dev Tests that every check and event applies to every kind of intent:
/// - with and without an amount
/// - with no, one, or two calls
/// - of this chain, and of chains with lower, higher, and similar IDs
contract EveryIntentTest is Fixture {
    uint256 private constant CHAIN = 5;
    address private constant NOTHING = address(0x70CE17);

    function setUp() public override {
        super.setUp();
        vm.chainId(CHAIN);
    }

    function test_WrongChain() public {
        Intent[] memory intents = _ofOtherChains();
        for (uint256 i = 0; i < intents.length; ++i) {
            funded(intents[i], AMOUNT);
            for (uint256 late = 0; late < 2; ++late) {
                vm.warp(EXPIRY + late);
                vm.expectRevert(abi.encodeCall(Errors.WrongChain, (intents[i].chainId, CHAIN)));
                factory.execute(intents[i]);
            }
        }
    }

    function test_Expired() public {
        Intent[] memory intents = _ofThisChain();
        vm.warp(EXPIRY + 1);
        for (uint256 i = 0; i < intents.length; ++i) {
            funded(intents[i], AMOUNT);
            vm.expectRevert(abi.encodeCall(Errors.Expired, (EXPIRY, EXPIRY + 1)));
            factory.execute(intents[i]);
        }
    }

    function test_Underfunded() public {
        Intent[] memory intents = _ofThisChain();
        for (uint256 i = 0; i < intents.length; ++i) {
            if (intents[i].amount == 0) continue;
            address vault = funded(intents[i], AMOUNT - 1);
            vm.expectRevert(abi.encodeCall(Errors.Underfunded, (vault, AMOUNT, AMOUNT - 1)));
            factory.execute(intents[i]);
        }
    }

    function test_Executed_thenAlreadyOver_andNotVault() public {
        Intent[] memory intents = _ofThisChain();
        for (uint256 i = 0; i < intents.length; ++i) {
            address vault = funded(intents[i], AMOUNT);
            uint256 visits = shop.visits();
            vm.expectEmit(true, true, true, true, address(factory));
            emit IPaymentFactory.Executed(vault, address(token), AMOUNT, AMOUNT);
            factory.execute(intents[i]);
            equal(shop.visits(), visits + intents[i].calls.length, "visits");
            sameBytes(vault.code, executedCode(), "executed");
            vm.expectRevert(abi.encodeCall(Errors.AlreadyOver, (vault)));
            factory.execute(intents[i]);
            _refusesCreation(vault, intents[i]);
        }
    }

    function test_anExecutedItem_isDone_andAClosedItemIsAlreadyOver() public {
        Intent[] memory intents = _ofThisChain();
        for (uint256 i = 0; i < intents.length; ++i) {
            address vault = funded(intents[i], AMOUNT);
            factory.execute(intents[i]);
            check(factory.batch(list(execution(intents[i])))[0] == vault, "done");
        }
        Intent[] memory others = _ofOtherChains();
        for (uint256 i = 0; i < others.length; ++i) {
            address vault = factory.recover(others[i], new address[](0));
            vm.expectEmit(true, true, true, true, address(factory));
            emit IPaymentFactory.ItemFailed(
                address(this), 0, abi.encodeCall(Errors.AlreadyOver, (vault))
            );
            factory.batch(list(execution(others[i])));
        }
    }

    function test_NotRecoverable() public {
        Intent[] memory intents = _ofThisChain();
        for (uint256 i = 0; i < intents.length; ++i) {
            address vault = funded(intents[i], AMOUNT);
            vm.expectRevert(abi.encodeCall(Errors.NotRecoverable, (vault, EXPIRY, NOW)));
            factory.recover(intents[i], list(address(token)));
        }
    }

    function test_Closed_thenRecoveryFailed_thenAlreadyOver_andNotVault() public {
        vm.warp(EXPIRY + 1);
        Intent[] memory intents = _ofAllChains();
        for (uint256 i = 0; i < intents.length; ++i) {
            address vault = factory.addressOf(intents[i]);
            bytes memory reason = abi.encodeCall(Errors.BalanceUnknown, (NOTHING, vault));
            vm.expectEmit(true, true, true, true, address(factory));
            emit IPaymentFactory.Closed(vault);
            vm.expectEmit(true, true, true, true, address(factory));
            emit IPaymentFactory.RecoveryFailed(vault, NOTHING, reason);
            factory.recover(intents[i], list(NOTHING));
            equal(vault.code.length, executedCode().length + 1, "closed");
            // Recovers again, which must not create the vault again.
            check(factory.recover(intents[i], new address[](0)) == vault, "over");
            vm.expectRevert(abi.encodeCall(Errors.AlreadyOver, (vault)));
            factory.execute(intents[i]);
            _refusesCreation(vault, intents[i]);
        }
        equal(shop.visits(), 0, "visits");
    }

    function test_NotRecovery_andCallFailed_forARescue() public {
        vm.warp(EXPIRY + 1);
        Intent[] memory intents = _ofAllChains();
        for (uint256 i = 0; i < intents.length; ++i) {
            vm.prank(STRANGER);
            vm.expectRevert(abi.encodeCall(Errors.NotRecovery, (RECOVERY, STRANGER)));
            factory.rescue(intents[i], address(shop), 0, "");
            // The vault has no coin to send.
            vm.prank(RECOVERY);
            vm.expectRevert(abi.encodeCall(Errors.CallFailed, (0, address(shop), "")));
            factory.rescue(intents[i], address(shop), 1, "");
        }
    }

    function test_NotCanonical() public {
        vm.warp(EXPIRY + 1);
        Intent[] memory intents = _ofAllChains();
        for (uint256 i = 0; i < intents.length; ++i) {
            bytes memory body = withoutOffset(abi.encode(intents[i]));
            // Inserts a word between the offset and the intent.
            bytes memory moved = bytes.concat(
                bytes4(keccak256(bytes(string.concat("addressOf(", INTENT, ")")))),
                abi.encode(64, 0),
                body
            );
            bytes memory reason = abi.encodeCall(Errors.NotCanonical, (4 + 64, moved.length));
            _refused(moved, reason);
            // Puts the empty list of tokens before the intent.
            bytes memory mixed =
                bytes.concat(abi.encodeWithSelector(factory.recover.selector, 96, 64, 0), body);
            _refused(mixed, abi.encodeCall(Errors.NotCanonical, (4 + 96, 4 + 64)));
        }
    }

    string private constant INTENT =
        "(address,uint256,(address,string,string,bytes)[],uint64,address,bytes32,uint256)";

    function _refused(bytes memory data, bytes memory reason) private {
        (bool ok, bytes memory answer) = address(factory).call(data);
        check(!ok, "refused");
        sameBytes(answer, reason, "reason");
    }

    function _refusesCreation(address vault, Intent memory intent) private {
        vm.prank(address(factory));
        (, bytes memory answer) =
            vault.call(bytes.concat(Internals.onCreation.selector, abi.encode(intent)));
        sameBytes(answer, abi.encodeCall(Errors.NotVault, ()), "not created again");
    }

    function _ofThisChain() private returns (Intent[] memory) {
        uint256[] memory chains = new uint256[](1);
        chains[0] = CHAIN;
        return _of(chains);
    }

    function _ofOtherChains() private returns (Intent[] memory) {
        uint256[] memory chains = new uint256[](5);
        (chains[0], chains[1], chains[2]) = (0, CHAIN - 1, CHAIN + 1);
        (chains[3], chains[4]) = (2 ** 64 + CHAIN, 2 ** 128 + CHAIN);
        return _of(chains);
    }

    function _ofAllChains() private returns (Intent[] memory) {
        uint256[] memory chains = new uint256[](3);
        (chains[0], chains[1], chains[2]) = (CHAIN, CHAIN - 1, CHAIN + 1);
        return _of(chains);
    }

    /// @dev Returns an intent for each combination of chain, number of calls (0 to 2), and amount
    /// (zero or more).
    function _of(uint256[] memory chains) private returns (Intent[] memory intents) {
        intents = new Intent[](6 * chains.length);
        for (uint256 i = 0; i < intents.length; ++i) {
            Call[] memory calls = new Call[](i % 3);
            for (uint256 j = 0; j < calls.length; ++j) {
                calls[j] = plainCall(address(shop), "visit()", "");
            }
            intents[i] = intentOf(calls);
            intents[i].amount = i / 3 % 2 * AMOUNT;
            intents[i].chainId = chains[i / 6];
        }
    }
}

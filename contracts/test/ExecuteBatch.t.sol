// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Call, Intent, IPaymentFactory} from "../src/IPaymentFactory.sol";
import {Errors} from "./Errors.sol";
import {Fixture} from "./Fixture.sol";
import {vm} from "./Vm.sol";
import {Shop} from "./targets/Shop.sol";

contract ExecuteBatchTest is Fixture {
    /// @dev A failing item between two good ones: its event tells why, and they are paid.
    function between(Intent memory bad, bytes memory reason) private {
        Intent memory first = plainIntent();
        Intent memory last = plainIntent();
        funded(first, AMOUNT);
        funded(last, AMOUNT);
        address badVault = factory.addressOf(bad);
        uint256 held = token.balanceOf(badVault);
        vm.expectEmit(true, true, true, true, address(factory));
        emit IPaymentFactory.ExecutionFailed(badVault, reason);
        address[] memory vaults = factory.executeBatch(list(first, bad, last));
        check(
            vaults[0] == factory.addressOf(first) && vaults[2] == factory.addressOf(last), "vaults"
        );
        check(vaults[1] == address(0), "none for the one that failed");
        equal(token.balanceOf(MERCHANT), 2 * AMOUNT, "paid");
        equal(token.balanceOf(badVault), held, "untouched");
    }

    function test_WrongChain_ofOneItem() public {
        Intent memory bad = plainIntent();
        bad.chainId = 10;
        funded(bad, AMOUNT);
        between(bad, abi.encodeCall(Errors.WrongChain, (10, 1)));
    }

    function test_Expired_ofOneItem() public {
        Intent memory bad = plainIntent();
        bad.expirationTimestamp = uint64(NOW - 1);
        funded(bad, AMOUNT);
        between(bad, abi.encodeCall(Errors.Expired, (NOW - 1, NOW)));
    }

    function test_Underfunded_ofOneItem() public {
        Intent memory bad = plainIntent();
        address vault = funded(bad, AMOUNT - 1);
        between(bad, abi.encodeCall(Errors.Underfunded, (vault, AMOUNT, AMOUNT - 1)));
    }

    function test_CallFailed_ofOneItem_withTheWholeReason() public {
        Intent memory bad =
            intentOf(plainCall(address(shop), "bomb(uint256,bool)", abi.encode(1_000_000, false)));
        funded(bad, AMOUNT);
        between(bad, abi.encodeCall(Errors.CallFailed, (0, address(shop), new bytes(256))));
    }

    function test_AlreadyOver_ofTheSameIntentTwice() public {
        Intent memory intent = plainIntent();
        address vault = funded(intent, 3 * AMOUNT);
        vm.expectEmit(true, true, true, true, address(factory));
        emit IPaymentFactory.ExecutionFailed(vault, abi.encodeCall(Errors.AlreadyOver, (vault)));
        address[] memory vaults = factory.executeBatch(list(intent, intent, plainIntent()));
        check(vaults[0] == vault && vaults[1] == address(0) && vaults[2] == address(0), "vaults");
        holds(vault, 2 * AMOUNT, AMOUNT);
    }

    function test_oneItemThatBurnsItsGas_leavesTheOthersTheirs() public {
        Intent memory bad = intentOf(plainCall(address(shop), "burnGas()", ""));
        funded(bad, AMOUNT);
        Intent memory first = plainIntent();
        Intent memory last = plainIntent();
        funded(first, AMOUNT);
        funded(last, AMOUNT);
        factory.executeBatch{gas: 900_000}(list(bad, first, last));
        equal(token.balanceOf(MERCHANT), 2 * AMOUNT, "paid");
    }

    function test_NotCanonical_whereItemsAreOutOfOrder() public {
        bytes memory good = abi.encodeCall(
            factory.executeBatch, (list(plainIntent(), plainIntent(), plainIntent()))
        );
        // The offsets of items 0 and 1, behind selector, offset and length.
        bytes memory swapped = good;
        assembly {
            let offsets := add(swapped, 100)
            let first := mload(offsets)
            mstore(offsets, mload(add(offsets, 32)))
            mstore(add(offsets, 32), first)
        }
        (bool ok, bytes memory reason) = address(factory).call(swapped);
        check(!ok && bytes4(reason) == IPaymentFactory.NotCanonical.selector, "refused");
    }

    function test_noItems_isNothing() public {
        equal(factory.executeBatch(new Intent[](0)).length, 0, "vaults");
    }

    function test_eachItemAsIfAlone(uint256 seed) public {
        Intent[] memory intents = new Intent[](8);
        uint256 paid;
        for (uint256 i = 0; i < 8; ++i) {
            intents[i] = plainIntent();
            uint256 amount =
                bounded(uint256(keccak256(abi.encode(seed, i))), AMOUNT - 2, AMOUNT + 2);
            funded(intents[i], amount);
            if (amount >= AMOUNT) paid += AMOUNT;
        }
        address[] memory vaults = factory.executeBatch(intents);
        equal(token.balanceOf(MERCHANT), paid, "paid");
        for (uint256 i = 0; i < 8; ++i) {
            address vault = factory.addressOf(intents[i]);
            check((vaults[i] == vault) == (vault.code.length != 0), "answered as it went");
        }
    }
}

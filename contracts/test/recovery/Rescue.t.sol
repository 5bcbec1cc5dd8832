// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Call, Intent, IPaymentFactory} from "../../src/IPaymentFactory.sol";
import {Errors} from "../Errors.sol";
import {Fixture} from "../Fixture.sol";
import {vm} from "../Vm.sol";
import {Nft} from "../tokens/Nft.sol";
import {Shop} from "../targets/Shop.sol";

contract RescueTest is Fixture {
    function test_NotRecovery_forAnyOtherCaller(address caller) public {
        vm.assume(caller != RECOVERY);
        Intent memory intent = plainIntent();
        funded(intent, 2 * AMOUNT);
        factory.execute(intent);
        vm.prank(caller);
        vm.expectRevert(abi.encodeCall(Errors.NotRecovery, (RECOVERY, caller)));
        factory.rescue(intent, address(token), 0, transferData(caller, AMOUNT));
    }

    function test_NotRecoverable_whileOpen_alsoForRecovery() public {
        Intent memory intent = plainIntent();
        address vault = funded(intent, AMOUNT);
        vm.prank(RECOVERY);
        vm.expectRevert(abi.encodeCall(Errors.NotRecoverable, (vault, EXPIRY, NOW)));
        factory.rescue(intent, address(token), 0, transferData(RECOVERY, AMOUNT));
        holds(vault, AMOUNT, 0);
    }

    function test_NotRecovery_forAnyOtherCaller_alsoWhileOpen() public {
        Intent memory intent = plainIntent();
        funded(intent, AMOUNT);
        vm.prank(STRANGER);
        vm.expectRevert(abi.encodeCall(Errors.NotRecovery, (RECOVERY, STRANGER)));
        factory.rescue(intent, address(token), 0, transferData(STRANGER, AMOUNT));
    }

    function test_theTarget_receivesAllGasExceptOne64th() public {
        Intent memory intent = plainIntent();
        funded(intent, AMOUNT);
        factory.execute(intent);
        vm.prank(RECOVERY);
        factory.rescue{gas: 600_000}(intent, address(shop), 0, abi.encodeCall(Shop.stock, (15)));
        equal(shop.stocked(), 15, "stocked for more than half of it");
    }

    function test_CallFailed_withTheTargetsReason() public {
        Intent memory intent = plainIntent();
        funded(intent, AMOUNT);
        factory.execute(intent);
        bytes memory reason = abi.encodeWithSelector(Shop.ShopClosed.selector, 1);
        vm.prank(RECOVERY);
        vm.expectRevert(abi.encodeCall(Errors.CallFailed, (0, address(shop), reason)));
        factory.rescue(intent, address(shop), 0, abi.encodeCall(Shop.fail, ()));
    }

    function test_CallFailed_ifTheValueExceedsTheNativeCoin() public {
        Intent memory intent = plainIntent();
        address vault = funded(intent, AMOUNT);
        factory.execute(intent);
        vm.deal(vault, 1);
        vm.prank(RECOVERY);
        vm.expectRevert(abi.encodeCall(Errors.CallFailed, (0, address(shop), "")));
        factory.rescue(intent, address(shop), 2, abi.encodeCall(Shop.receiveCoin, ()));
    }

    function test_anNft_mintedToTheVaultWhileOpen_isRescuedOnlyByRecovery() public {
        Nft nft = new Nft();
        Intent memory intent = plainIntent();
        address vault = funded(intent, AMOUNT);
        nft.safeMint(vault, 7);
        factory.execute(intent);
        factory.recover(intent, list(address(nft)));
        check(nft.ownerOf(7) == vault, "recover cannot move it");
        vm.prank(RECOVERY);
        factory.rescue(
            intent, address(nft), 0, abi.encodeCall(Nft.transferFrom, (vault, RECOVERY, 7))
        );
        check(nft.ownerOf(7) == RECOVERY, "rescued");
    }

    function test_anNft_mintedByTheCalls_reachesTheVault() public {
        Nft nft = new Nft();
        Intent memory intent =
            intentOf(plainCall(address(nft), "safeMintToCaller(uint256)", abi.encode(7)));
        address vault = funded(intent, AMOUNT);
        factory.execute(intent);
        check(nft.ownerOf(7) == vault, "minted during the constructor");
    }

    function test_anNft_sentSafelyAfterwards_isRejectedByTheVault() public {
        Nft nft = new Nft();
        Intent memory intent = plainIntent();
        address vault = funded(intent, AMOUNT);
        factory.execute(intent);
        (bool ok,) = address(nft).call(abi.encodeCall(Nft.safeMint, (vault, 7)));
        check(!ok, "the sender keeps it");
    }

    function test_aRescueOfAnExpiredIntent_runsNoCalls_andReturnsNativeCoinAndAnswer() public {
        Intent memory intent = plainIntent();
        address vault = funded(intent, AMOUNT);
        vm.deal(vault, 5);
        vm.warp(EXPIRY + 1);
        vm.prank(RECOVERY);
        bytes memory result =
            factory.rescue(intent, address(token), 0, transferData(STRANGER, AMOUNT));
        check(abi.decode(result, (bool)), "what the token answered");
        vm.prank(RECOVERY);
        factory.rescue(intent, address(shop), 5, abi.encodeCall(Shop.receiveCoin, ()));
        equal(token.balanceOf(STRANGER), AMOUNT, "sent");
        equal(address(shop).balance, 5, "coin");
        equal(token.balanceOf(MERCHANT), 0, "the calls did not run");
    }

    function test_theVaultTheFactoryOrADifferentVault_canBeTargets_withoutEffect() public {
        Intent memory intent = plainIntent();
        Intent memory other = plainIntent();
        address vault = funded(intent, 2 * AMOUNT);
        address otherVault = funded(other, 2 * AMOUNT);
        factory.execute(intent);
        factory.execute(other);
        bytes memory act = abi.encodeWithSignature(
            "act(address,uint256,bytes)", address(token), 0, transferData(RECOVERY, AMOUNT)
        );
        address[3] memory targets = [vault, otherVault, address(factory)];
        for (uint256 i = 0; i < 3; ++i) {
            vm.prank(RECOVERY);
            (bool ok,) =
                address(factory).call(abi.encodeCall(factory.rescue, (intent, targets[i], 0, act)));
            check(ok == (i < 2), "a vault does nothing for strangers, the factory refuses");
        }
        equal(token.balanceOf(vault), AMOUNT, "stays");
        equal(token.balanceOf(otherVault), AMOUNT, "stays");
    }

    function test_aLongAnswer_isTruncatedTo256Bytes() public {
        Intent memory intent = plainIntent();
        funded(intent, AMOUNT);
        factory.execute(intent);
        vm.prank(RECOVERY);
        bytes memory data = abi.encodeCall(Shop.bomb, (1_000_000, true));
        equal(factory.rescue(intent, address(shop), 0, data).length, 256, "bytes");
    }

    function test_aLongArgumentOfARescue_isPassedInFull(bytes calldata data) public {
        Intent memory intent = plainIntent();
        funded(intent, AMOUNT);
        factory.execute(intent);
        Echo echo = new Echo();
        vm.prank(RECOVERY);
        bytes memory result = factory.rescue(intent, address(echo), 0, data);
        check(keccak256(data) == abi.decode(result, (bytes32)), "every byte arrived, and no other");
    }

    function transferData(address to, uint256 amount) private view returns (bytes memory) {
        return abi.encodeCall(token.transfer, (to, amount));
    }
}

contract Echo {
    fallback(bytes calldata data) external returns (bytes memory) {
        return abi.encode(keccak256(data));
    }
}

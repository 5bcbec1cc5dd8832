// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Call, Intent, IPaymentFactory} from "../src/IPaymentFactory.sol";
import {Errors} from "./Errors.sol";
import {Fixture} from "./Fixture.sol";
import {Vm, vm} from "./Vm.sol";
import {Shop} from "./targets/Shop.sol";

contract BatchTest is Fixture {
    /// @dev Puts a failing item between two good items. The failing item's event contains the
    /// reason, and the good items are paid.
    function between(bytes memory bad, bytes memory reason) private {
        Intent memory first = plainIntent();
        Intent memory last = plainIntent();
        funded(first, AMOUNT);
        funded(last, AMOUNT);
        uint256 before = token.balanceOf(MERCHANT);
        vm.expectEmit(true, true, true, true, address(factory));
        emit IPaymentFactory.ItemFailed(address(this), 1, reason);
        address[] memory vaults = factory.batch(list(execution(first), bad, execution(last)));
        check(
            vaults[0] == factory.addressOf(first) && vaults[2] == factory.addressOf(last), "vaults"
        );
        check(vaults[1] == address(0), "none for the one that failed");
        equal(token.balanceOf(MERCHANT), before + 2 * AMOUNT, "paid");
    }

    function test_WrongChain_forOneItem() public {
        Intent memory bad = plainIntent();
        bad.chainId = 10;
        address vault = funded(bad, AMOUNT);
        between(execution(bad), abi.encodeCall(Errors.WrongChain, (10, 1)));
        equal(token.balanceOf(vault), AMOUNT, "untouched");
    }

    function test_Expired_forOneItem() public {
        Intent memory bad = plainIntent();
        bad.expirationTimestamp = uint64(NOW - 1);
        funded(bad, AMOUNT);
        between(execution(bad), abi.encodeCall(Errors.Expired, (NOW - 1, NOW)));
    }

    function test_Underfunded_forOneItem() public {
        Intent memory bad = plainIntent();
        address vault = funded(bad, AMOUNT - 1);
        between(execution(bad), abi.encodeCall(Errors.Underfunded, (vault, AMOUNT, AMOUNT - 1)));
        equal(token.balanceOf(vault), AMOUNT - 1, "untouched");
    }

    function test_CallFailed_forOneItem_withTheWholeReason() public {
        Intent memory bad =
            intentOf(plainCall(address(shop), "bomb(uint256,bool)", abi.encode(1_000_000, false)));
        funded(bad, AMOUNT);
        bytes memory reason = abi.encodeCall(Errors.CallFailed, (0, address(shop), new bytes(256)));
        between(execution(bad), reason);
    }

    function test_NotRecoverable_forOneItem() public {
        Intent memory bad = plainIntent();
        address vault = funded(bad, AMOUNT);
        bytes memory reason = abi.encodeCall(Errors.NotRecoverable, (vault, EXPIRY, NOW));
        between(recovery(bad, list(address(token))), reason);
        equal(token.balanceOf(vault), AMOUNT, "untouched");
    }

    function test_AlreadyOver_forAnExecution_ifTheVaultWasClosed() public {
        Intent memory bad = plainIntent();
        address vault = funded(bad, AMOUNT);
        vm.warp(EXPIRY + 1);
        factory.recover(bad, list(NATIVE));
        vm.warp(NOW);
        between(execution(bad), abi.encodeCall(Errors.AlreadyOver, (vault)));
        equal(token.balanceOf(vault), AMOUNT, "untouched");
    }

    function test_AlreadyOver_outsideABatch_ifTheCallsRan() public {
        Intent memory intent = plainIntent();
        address vault = funded(intent, 2 * AMOUNT);
        factory.batch(list(execution(intent)));
        vm.expectRevert(abi.encodeCall(Errors.AlreadyOver, (vault)));
        factory.execute(intent);
    }

    function test_NotAnItem_forAnyOtherFunction() public {
        Intent memory intent = plainIntent();
        funded(intent, 2 * AMOUNT);
        factory.execute(intent);
        bytes[] memory others = new bytes[](7);
        others[0] = abi.encodeCall(factory.batch, (list(execution(intent))));
        others[1] = abi.encodeCall(factory.rescue, (intent, address(token), 0, ""));
        others[2] = abi.encodeWithSignature("addressOf(bytes)", "");
        others[3] = abi.encodeWithSignature(
            "sweepToken(address,address,address)", address(factory), address(token), STRANGER
        );
        others[4] = abi.encodeWithSignature("act(address,uint256,bytes)", address(token), 0, "");
        others[5] = hex"184bb8";
        others[6] = "";
        for (uint256 i = 0; i < others.length; ++i) {
            bytes4 selector = bytes4(others[i]);
            between(others[i], abi.encodeCall(Errors.NotAnItem, (selector)));
        }
    }

    function test_invalidArguments_failOnlyTheirItem_withoutAReason() public {
        between(abi.encodePacked(factory.execute.selector), "");
        between(abi.encodePacked(factory.recover.selector, type(uint256).max), "");
        between(abi.encodePacked(factory.execute.selector, bytes32(type(uint256).max)), "");
    }

    function test_nativeCoinWithTheCall_isRejected() public {
        vm.deal(address(this), 1);
        bytes memory data = abi.encodeCall(factory.batch, (new bytes[](0)));
        (bool ok,) = address(factory).call{value: 1}(data);
        check(!ok, "refused");
    }

    function test_anItemThatBurnsItsGas_leavesOtherItemsTheirGas() public {
        Intent memory bad = intentOf(plainCall(address(shop), "burnGas()", ""));
        funded(bad, AMOUNT);
        Intent memory first = plainIntent();
        Intent memory last = plainIntent();
        funded(first, AMOUNT);
        funded(last, AMOUNT);
        vm.expectEmit(true, true, true, false, address(factory));
        emit IPaymentFactory.ItemFailed(address(this), 0, "");
        factory.batch{gas: 900_000}(list(execution(bad), execution(first), execution(last)));
        equal(token.balanceOf(MERCHANT), 2 * AMOUNT, "paid");
    }

    /// @dev The last of three items needs more than a third of the gas. It can use the gas that the
    /// other items do not need.
    function test_gasThatOtherItemsDoNotUse_isAvailableToTheLast() public {
        Intent memory dear = intentOf(plainCall(address(shop), "stock(uint256)", abi.encode(30)));
        Intent memory first = plainIntent();
        Intent memory second = plainIntent();
        funded(dear, AMOUNT);
        funded(first, AMOUNT);
        funded(second, AMOUNT);
        factory.batch{gas: 1_200_000}(list(execution(first), execution(second), execution(dear)));
        equal(shop.stocked(), 30, "stocked");
    }

    function test_anExecutionNamedTwice_runsOnce_andSucceedsTwice() public {
        Intent memory intent = plainIntent();
        address vault = funded(intent, 3 * AMOUNT);
        vm.recordLogs();
        address[] memory vaults =
            factory.batch(list(execution(intent), execution(intent), execution(intent)));
        check(vaults[0] == vault && vaults[1] == vault && vaults[2] == vault, "vaults");
        equal(count(IPaymentFactory.Executed.selector), 1, "executed once, and nothing failed");
        holds(vault, 2 * AMOUNT, AMOUNT);
    }

    function test_anEarlierExecution_countsAsDone_alsoAfterExpiry() public {
        Intent memory intent = plainIntent();
        address vault = funded(intent, AMOUNT);
        factory.execute(intent);
        vm.warp(EXPIRY + 1);
        check(factory.batch(list(execution(intent)))[0] == vault, "done");
    }

    /// @dev Changes the chain ID after the execution, as a fork would. The executed vault exists on
    /// both chains.
    function test_anExecutionBeforeAFork_countsAsDoneOnBothChains() public {
        Intent memory intent = plainIntent();
        address vault = funded(intent, AMOUNT);
        factory.execute(intent);
        vm.chainId(10001);
        check(factory.batch(list(execution(intent)))[0] == vault, "done");
    }

    function test_anExecutionByADifferentItemsCalls_countsAsDone() public {
        Intent memory second = plainIntent();
        address secondVault = funded(second, AMOUNT);
        Intent memory first = intentOf(executeCall(second));
        address firstVault = funded(first, AMOUNT);
        vm.recordLogs();
        address[] memory vaults =
            factory.batch(list(execution(first), execution(second), execution(first)));
        check(vaults[0] == firstVault && vaults[1] == secondVault, "both ran");
        check(vaults[2] == firstVault, "answered again");
        equal(count(IPaymentFactory.Executed.selector), 2, "each once, and nothing failed");
        equal(token.balanceOf(MERCHANT), AMOUNT, "paid once");
    }

    function test_anExecutionThatADifferentItemReverted_runsInItsOwnItem() public {
        Intent memory second = plainIntent();
        address secondVault = funded(second, AMOUNT);
        Intent memory first =
            intentOf(list(executeCall(second), plainCall(address(shop), "fail()", "")));
        funded(first, AMOUNT);
        address[] memory vaults =
            factory.batch(list(execution(first), execution(second), execution(plainIntent())));
        check(vaults[0] == address(0) && vaults[1] == secondVault, "the second alone");
        holds(secondVault, 0, AMOUNT);
    }

    function test_executionsAndRecoveries_canShareABatch() public {
        Intent memory paid = plainIntent();
        Intent memory late = plainIntent();
        late.expirationTimestamp = uint64(NOW - 1);
        address paidVault = funded(paid, AMOUNT + 3);
        address lateVault = funded(late, 5);
        address[] memory tokens = list(address(token));
        vm.expectEmit(true, true, true, true, address(factory));
        emit IPaymentFactory.Executed(paidVault, address(token), AMOUNT + 3, 3);
        vm.expectEmit(true, true, true, true, address(factory));
        emit IPaymentFactory.Recovered(paidVault, address(token), 3);
        vm.expectEmit(true, true, true, true, address(factory));
        emit IPaymentFactory.Recovered(lateVault, address(token), 5);
        address[] memory vaults =
            factory.batch(list(execution(paid), recovery(paid, tokens), recovery(late, tokens)));
        check(vaults[0] == paidVault && vaults[1] == paidVault && vaults[2] == lateVault, "vaults");
        equal(token.balanceOf(RECOVERY), 8, "recovered");
    }

    function test_aRecoveryNamedTwice_movesMoneyOnce_andSucceedsTwice() public {
        Intent memory late = plainIntent();
        address vault = funded(late, 5);
        vm.warp(EXPIRY + 1);
        bytes memory item = recovery(late, list(address(token)));
        vm.recordLogs();
        address[] memory vaults = factory.batch(list(item, item, item));
        check(vaults[0] == vault && vaults[1] == vault && vaults[2] == vault, "vaults");
        Vm.Log[] memory logs = vm.getRecordedLogs();
        equal(logs.length, 3, "closed once, moved once, and recovered once");
        check(logs[0].topics[0] == IPaymentFactory.Closed.selector, "Closed");
        check(logs[2].topics[0] == IPaymentFactory.Recovered.selector, "Recovered");
    }

    function test_anEmptyBatch_hasNoEffect() public {
        equal(factory.batch(new bytes[](0)).length, 0, "vaults");
    }

    function test_eachItem_hasTheSameEffectAsOutsideABatch(uint256 seed) public {
        Intent[] memory intents = new Intent[](8);
        bytes[] memory items = new bytes[](8);
        uint256 paid;
        for (uint256 i = 0; i < 8; ++i) {
            intents[i] = plainIntent();
            items[i] = execution(intents[i]);
            uint256 amount =
                bounded(uint256(keccak256(abi.encode(seed, i))), AMOUNT - 2, AMOUNT + 2);
            funded(intents[i], amount);
            if (amount >= AMOUNT) paid += AMOUNT;
        }
        address[] memory vaults = factory.batch(items);
        equal(token.balanceOf(MERCHANT), paid, "paid");
        for (uint256 i = 0; i < 8; ++i) {
            address vault = factory.addressOf(intents[i]);
            check((vaults[i] == vault) == (vault.code.length != 0), "answered as it went");
        }
    }

    /// @dev An intent's target can call `batch`. In the {ItemFailed} events, `caller` is then this
    /// target.
    function test_aBatchWithinAnItem_namesItsOwnCaller() public {
        Batcher batcher = new Batcher(factory);
        Intent memory intent = intentOf(plainCall(address(batcher), "spoil()", ""));
        address vault = funded(intent, AMOUNT);
        vm.expectEmit(true, true, true, true, address(factory));
        emit IPaymentFactory.ItemFailed(
            address(batcher), 0, abi.encodeCall(Errors.NotAnItem, (bytes4(0)))
        );
        address[] memory vaults = factory.batch(list(execution(intent)));
        check(vaults[0] == vault, "executed");
    }

    /// @dev Returns a call of {execute} for use in an intent.
    function executeCall(Intent memory intent) private view returns (Call memory) {
        string memory signature =
            "execute((address,uint256,(address,string,string,bytes)[],uint64,address,bytes32,uint256))";
        return plainCall(address(factory), signature, abi.encode(intent));
    }

    /// @dev Counts the factory's logs. Every log must have `topic` as its first topic.
    function count(bytes32 topic) private returns (uint256 found) {
        Vm.Log[] memory logs = vm.getRecordedLogs();
        for (uint256 i = 0; i < logs.length; ++i) {
            if (logs[i].emitter != address(factory)) continue;
            check(logs[i].topics[0] == topic, "no other event");
            found++;
        }
    }
}

contract Batcher {
    IPaymentFactory private immutable FACTORY;

    constructor(IPaymentFactory factory) {
        FACTORY = factory;
    }

    function spoil() external {
        FACTORY.batch(new bytes[](1));
    }
}

// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Call, Intent, IPaymentFactory} from "../src/IPaymentFactory.sol";
import {Fixture} from "./Fixture.sol";
import {Errors} from "./Errors.sol";
import {vm} from "./Vm.sol";
import {Shop} from "./targets/Shop.sol";
import {HalfToken, LyingToken} from "./tokens/OddTokens.sol";
import {PlainToken} from "./tokens/PlainToken.sol";

/// @notice Pays any caller.
contract Giver {
    function give(PlainToken token, uint256 amount) external {
        token.mint(msg.sender, amount);
    }
}

contract ExecuteTest is Fixture {
    function test_WrongChain_onADifferentChain(uint64 other) public {
        vm.assume(other != 1 && other != 0);
        Intent memory intent = plainIntent();
        funded(intent, AMOUNT);
        vm.chainId(other);
        vm.expectRevert(abi.encodeCall(Errors.WrongChain, (1, other)));
        factory.execute(intent);
    }

    /// @dev Assumption 9: the factory compares the expiry with the block's time.
    function test_Expired_oneSecondAfterTheExpiry() public {
        Intent memory intent = plainIntent();
        address vault = funded(intent, AMOUNT);
        vm.warp(EXPIRY + 1);
        vm.expectRevert(abi.encodeCall(Errors.Expired, (EXPIRY, EXPIRY + 1)));
        factory.execute(intent);
        holds(vault, AMOUNT, 0);
    }

    function test_WrongChain_ifOnlyTheLow32BitsMatchThisChain() public {
        Intent memory intent = plainIntent();
        intent.chainId = 2 ** 32 + 1;
        address vault = funded(intent, AMOUNT);
        vm.expectRevert(abi.encodeCall(Errors.WrongChain, (2 ** 32 + 1, 1)));
        factory.execute(intent);
        factory.recover(intent, list(address(token)));
        holds(vault, 0, 0);
    }

    function test_WrongChain_ifOnlyTheLowBitsMatchThisChain() public {
        uint256[5] memory widths = [uint256(8), 16, 64, 128, 255];
        for (uint256 i = 0; i < widths.length; ++i) {
            Intent memory intent = plainIntent();
            intent.chainId = 2 ** widths[i] + 1;
            address vault = funded(intent, AMOUNT);
            vm.expectRevert(abi.encodeCall(Errors.WrongChain, (intent.chainId, 1)));
            factory.execute(intent);
            factory.recover(intent, list(address(token)));
            holds(vault, 0, 0);
        }
    }

    /// @dev The chain's ID and the intent's chain ID differ, but have the same low 32 bits.
    function test_WrongChain_ifTheIntentHasOnlyTheLow32BitsOfThisChain() public {
        Intent memory intent = plainIntent();
        address vault = funded(intent, AMOUNT);
        vm.chainId(2 ** 32 + 1);
        vm.expectRevert(abi.encodeCall(Errors.WrongChain, (1, 2 ** 32 + 1)));
        factory.execute(intent);
        holds(vault, AMOUNT, 0);
    }

    function test_Expired_onAChainIdAbove32Bits() public {
        Intent memory intent = plainIntent();
        intent.chainId = 2 ** 32 + 1;
        funded(intent, AMOUNT);
        vm.chainId(2 ** 32 + 1);
        vm.warp(EXPIRY + 1);
        vm.expectRevert(abi.encodeCall(Errors.Expired, (EXPIRY, EXPIRY + 1)));
        factory.execute(intent);
    }

    function test_Expired_ifOnlyTheLow32BitsOfTheTimeAreEarlier() public {
        Intent memory intent = plainIntent();
        funded(intent, AMOUNT);
        vm.warp(2 ** 32 + NOW);
        vm.expectRevert(abi.encodeCall(Errors.Expired, (EXPIRY, 2 ** 32 + NOW)));
        factory.execute(intent);
    }

    function test_Underfunded_byOneUnit() public {
        Intent memory intent = plainIntent();
        address vault = funded(intent, AMOUNT - 1);
        vm.expectRevert(abi.encodeCall(Errors.Underfunded, (vault, AMOUNT, AMOUNT - 1)));
        factory.execute(intent);
    }

    function test_BalanceUnknown_ifTheTokenHasNoCode() public {
        Intent memory intent = plainIntent();
        intent.token = address(0x70CE17);
        address vault = factory.addressOf(intent);
        vm.expectRevert(abi.encodeCall(Errors.BalanceUnknown, (intent.token, vault)));
        factory.execute(intent);
    }

    function test_BalanceUnknown_ifTheTokenReverts_withAnyData() public {
        LyingToken liar = new LyingToken();
        liar.lie(AMOUNT, 32, true);
        Intent memory intent = intentOf(plainCall(address(shop), "visit()", ""));
        intent.token = address(liar);
        address vault = factory.addressOf(intent);
        vm.expectRevert(abi.encodeCall(Errors.BalanceUnknown, (intent.token, vault)));
        factory.execute(intent);
    }

    function test_BalanceUnknown_ifTheTokenReturnsLessThanOneWord() public {
        LyingToken liar = new LyingToken();
        liar.lie(type(uint256).max, 31, false);
        Intent memory intent = intentOf(plainCall(address(shop), "visit()", ""));
        intent.token = address(liar);
        address vault = factory.addressOf(intent);
        vm.expectRevert(abi.encodeCall(Errors.BalanceUnknown, (intent.token, vault)));
        factory.execute(intent);
    }

    function test_BalanceUnknown_ifTheTokenIsNativeCoin() public {
        Intent memory intent = plainIntent();
        intent.token = NATIVE;
        address vault = factory.addressOf(intent);
        vm.deal(vault, AMOUNT);
        vm.expectRevert(abi.encodeCall(Errors.BalanceUnknown, (NATIVE, vault)));
        factory.execute(intent);
    }

    function test_AlreadyOver_forASecondExecutionInTheSameTransaction() public {
        Intent memory intent = plainIntent();
        address vault = funded(intent, 2 * AMOUNT);
        factory.execute(intent);
        vm.expectRevert(abi.encodeCall(Errors.AlreadyOver, (vault)));
        factory.execute(intent);
        holds(vault, AMOUNT, AMOUNT);
    }

    function test_AlreadyOver_isCheap_evenIfFundedAgain() public {
        Intent memory intent = plainIntent();
        funded(intent, 3 * AMOUNT);
        factory.execute(intent);
        uint256 before = gasleft();
        (bool ok,) =
            address(factory).call{gas: 10_000_000}(abi.encodeCall(factory.execute, (intent)));
        check(!ok, "refused");
        check(before - gasleft() < 60_000, "without burning the gas on a collision");
    }

    function test_AlreadyOver_alsoAfterExpiry() public {
        Intent memory intent = plainIntent();
        address vault = funded(intent, AMOUNT);
        factory.execute(intent);
        vm.warp(EXPIRY + 1);
        vm.expectRevert(abi.encodeCall(Errors.AlreadyOver, (vault)));
        factory.execute(intent);
    }

    function test_CallFailed_ifAPrecompileFails() public {
        address pairing = address(8);
        Intent memory intent = intentOf(plainCall(pairing, "f()", ""));
        funded(intent, AMOUNT);
        vm.expectRevert(abi.encodeCall(Errors.CallFailed, (0, pairing, "")));
        factory.execute{gas: 1_000_000}(intent);
    }

    /// @dev The target is the precompile for SHA-256, which has no code but returns data.
    function test_aPrecompileThatReturnsData_isNotNoCode() public {
        Intent memory intent =
            intentOf(list(transferCall(MERCHANT, 1), plainCall(address(2), "f()", "")));
        address vault = funded(intent, AMOUNT);
        factory.execute(intent);
        holds(vault, AMOUNT - 1, 1);
    }

    function test_NoCode_ifATargetHasNoCode() public {
        Intent memory intent =
            intentOf(list(transferCall(MERCHANT, 1), transferCall(STRANGER, STRANGER, 1)));
        address vault = funded(intent, AMOUNT);
        vm.expectRevert(abi.encodeCall(Errors.NoCode, (1, STRANGER)));
        factory.execute(intent);
        holds(vault, AMOUNT, 0);
    }

    function test_CallFailed_withTheTargetsReason_revertsEverything() public {
        Call[] memory calls =
            list(transferCall(MERCHANT, AMOUNT), plainCall(address(shop), "fail()", ""));
        Intent memory intent = intentOf(calls);
        address vault = funded(intent, AMOUNT);
        bytes memory reason = abi.encodeWithSelector(Shop.ShopClosed.selector, 1);
        vm.expectRevert(abi.encodeCall(Errors.CallFailed, (1, address(shop), reason)));
        factory.execute(intent);
        holds(vault, AMOUNT, 0);
        equal(shop.visits(), 0, "visits");
        equal(vault.code.length, 0, "code");
    }

    function test_CallFailed_ifTheVaultHasTooLittleOfTheToken() public {
        Intent memory intent = intentOf(transferCall(MERCHANT, AMOUNT + 1));
        address vault = funded(intent, AMOUNT);
        (bool ok,) = address(factory).call(abi.encodeCall(factory.execute, (intent)));
        check(!ok, "refused");
        holds(vault, AMOUNT, 0);
    }

    function test_theTarget_receivesOnlySelectorAndArguments(bytes calldata args) public {
        Recorder recorder = new Recorder();
        Intent memory intent = intentOf(plainCall(address(recorder), "note(bytes)", args));
        funded(intent, AMOUNT);
        factory.execute(intent);
        bytes memory wanted = bytes.concat(bytes4(keccak256("note(bytes)")), args);
        sameBytes(recorder.last(), wanted, "every byte, and no other");
    }

    function test_nativeCoinForcedIntoTheFactory_staysThere() public {
        Intent memory intent = plainIntent();
        address vault = funded(intent, 2 * AMOUNT);
        Intent memory closed = plainIntent();
        closed.chainId = 10;
        vm.deal(address(factory), 1 ether);
        factory.execute(intent);
        factory.recover(intent, list(NATIVE, address(token)));
        factory.recover(closed, list(NATIVE));
        equal(address(factory).balance, 1 ether, "the factory's");
        equal(vault.balance + factory.addressOf(closed).balance + RECOVERY.balance, 0, "theirs");
    }

    function test_Executed_reportsTheBalanceLeft_ifTheTokenMovedLessThanAsked() public {
        HalfToken half = new HalfToken();
        token = half;
        Intent memory intent = plainIntent();
        address vault = funded(intent, AMOUNT);
        vm.expectEmit(true, true, true, true, address(factory));
        emit IPaymentFactory.Executed(vault, address(half), AMOUNT, AMOUNT / 2);
        factory.execute(intent);
    }

    function test_anExpiryAbove32Bits_isNotTruncated() public {
        uint64 expiry = 2 ** 32 + 5;
        for (uint256 i = 0; i < 2; ++i) {
            Intent memory intent = plainIntent();
            intent.expirationTimestamp = expiry;
            address vault = funded(intent, AMOUNT);
            vm.warp(i == 0 ? NOW : expiry);
            factory.execute(intent);
            equal(vault.code.length, 41, "executed");
        }
        Intent memory late = plainIntent();
        late.expirationTimestamp = expiry;
        vm.warp(expiry + 1);
        vm.expectRevert(abi.encodeCall(Errors.Expired, (expiry, expiry + 1)));
        factory.execute(late);
    }

    function test_nativeCoinWithTheCall_isRejected() public {
        Intent memory intent = plainIntent();
        funded(intent, AMOUNT);
        vm.deal(address(this), 1);
        (bool ok,) = address(factory).call{value: 1}(abi.encodeCall(factory.execute, (intent)));
        check(!ok, "refused");
    }

    function test_runsTheCalls_andReportsTheBalancesBeforeAndAfter() public {
        Intent memory intent = plainIntent();
        address vault = funded(intent, AMOUNT + 7);
        vm.expectEmit(true, true, true, true, address(factory));
        emit IPaymentFactory.Executed(vault, address(token), AMOUNT + 7, 7);
        check(factory.execute(intent) == vault, "answers with the vault");
        holds(vault, 7, AMOUNT);
    }

    function test_anAmountOfZero_runsTheCalls() public {
        Intent memory intent = intentOf(plainCall(address(shop), "visit()", ""));
        intent.amount = 0;
        factory.execute(intent);
        equal(shop.visits(), 1, "visits");
    }

    function test_Executed_reportsTheBalanceLeft_ifItIsHigherThanBefore() public {
        Giver giver = new Giver();
        bytes memory args = abi.encode(token, 5);
        Intent memory intent = intentOf(plainCall(address(giver), "give(address,uint256)", args));
        address vault = funded(intent, AMOUNT);
        vm.expectEmit(true, true, true, true, address(factory));
        emit IPaymentFactory.Executed(vault, address(token), AMOUNT, AMOUNT + 5);
        factory.execute(intent);
    }

    function test_leaves41Bytes_whichShowThatTheCallsRan() public {
        Intent memory intent = plainIntent();
        address vault = funded(intent, AMOUNT);
        factory.execute(intent);
        equal(vault.code.length, 41, "bytes");
        check(keccak256(vault.code) == keccak256(executedCode()), "code");
        vm.warp(EXPIRY + 1);
        factory.recover(intent, list(address(token)));
        equal(vault.code.length, 41, "for good");
    }

    function test_leaves41Bytes_alsoWithoutCalls() public {
        Intent memory intent = intentOf(new Call[](0));
        address vault = funded(intent, AMOUNT);
        factory.execute(intent);
        equal(vault.code.length, 41, "bytes");
    }

    function test_runs_inTheSecondOfExpiry_andInTheSecondBefore() public {
        for (uint256 before = 0; before < 2; ++before) {
            Intent memory intent = plainIntent();
            funded(intent, AMOUNT);
            vm.warp(EXPIRY - before);
            factory.execute(intent);
        }
        equal(token.balanceOf(MERCHANT), 2 * AMOUNT, "paid");
    }

    function test_theTarget_seesAVaultWithoutCode() public {
        Intent memory intent = intentOf(plainCall(address(shop), "visit()", ""));
        address vault = funded(intent, AMOUNT);
        factory.execute(intent);
        check(shop.lastPayer() == vault && shop.lastPayerHadNoCode(), "sender");
        holds(vault, AMOUNT, 0);
    }

    function test_runs_ifTheVaultHadOneWeiAndOneUnitBefore() public {
        Intent memory intent = plainIntent();
        address vault = funded(intent, AMOUNT);
        vm.deal(vault, 1);
        token.mint(vault, 1);
        factory.execute(intent);
        holds(vault, 1, AMOUNT);
        equal(vault.balance, 1, "coin");
    }

    function test_anAmountOf2to256minus1_runs() public {
        Intent memory intent = intentOf(transferCall(MERCHANT, type(uint256).max));
        intent.amount = type(uint256).max;
        address vault = funded(intent, type(uint256).max - 1);
        vm.expectRevert(
            abi.encodeCall(Errors.Underfunded, (vault, type(uint256).max, type(uint256).max - 1))
        );
        factory.execute(intent);
        token.mint(vault, 1);
        factory.execute(intent);
        holds(vault, 0, type(uint256).max);
    }

    function test_aTransferToTheVaultItself_leavesTheWholeBalance() public {
        Intent memory intent = plainIntent();
        // The terms cannot contain the vault's own address. So another contract sends the money
        // back to the vault.
        intent.calls = list(
            approveCall(address(token), address(this), AMOUNT),
            plainCall(address(this), "moveToItself()", "")
        );
        address vault = funded(intent, AMOUNT);
        factory.execute(intent);
        holds(vault, AMOUNT, 0);
        equal(token.allowance(vault, address(this)), 0, "allowance");
    }

    function moveToItself() external {
        token.transferFrom(msg.sender, msg.sender, AMOUNT);
    }

    function test_aTransferToADifferentVault_fundsThatVault() public {
        Intent memory second = plainIntent();
        Intent memory first = intentOf(transferCall(factory.addressOf(second), AMOUNT));
        funded(first, AMOUNT);
        factory.execute(first);
        factory.execute(second);
        equal(token.balanceOf(MERCHANT), AMOUNT, "paid");
    }

    /// @dev Assumption 1: a spender keeps the allowance that the intent's calls do not use.
    function test_withALeftoverApproval_theSpenderCanTakeLateMoneyUntilItIsRecovered() public {
        Intent memory intent = intentOf(approveCall(address(token), STRANGER, type(uint256).max));
        address vault = funded(intent, AMOUNT);
        factory.execute(intent);
        token.mint(vault, AMOUNT);
        vm.prank(STRANGER);
        token.transferFrom(vault, STRANGER, AMOUNT);
        factory.recover(intent, list(address(token)));
        equal(token.balanceOf(STRANGER), AMOUNT, "taken by the approved spender");
        equal(token.balanceOf(RECOVERY), AMOUNT, "the rest is recovered");
    }

    function test_callerGasPriceAndTime_haveNoEffect(address caller, uint64 price, uint32 later)
        public
    {
        Intent memory intent = plainIntent();
        address vault = funded(intent, AMOUNT);
        vm.warp(NOW + later % 1 days);
        vm.txGasPrice(price);
        vm.deal(caller, type(uint128).max);
        vm.prank(caller);
        factory.execute(intent);
        holds(vault, 0, AMOUNT);
        if (caller != MERCHANT) equal(token.balanceOf(caller), 0, "the caller's");
    }
}

contract Recorder {
    bytes private noted;

    fallback() external {
        noted = msg.data;
    }

    function last() external view returns (bytes memory) {
        return noted;
    }
}

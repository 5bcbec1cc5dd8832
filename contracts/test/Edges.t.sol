// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Call, Intent, IPaymentFactory} from "../src/IPaymentFactory.sol";
import {Errors} from "./Errors.sol";
import {Fixture} from "./Fixture.sol";
import {vm} from "./Vm.sol";
import {PlainToken} from "./tokens/PlainToken.sol";

/// @dev Tests edge cases. Each test was written to detect a mutant that passed all other tests.
contract EdgesTest is Fixture {
    function test_WrongChain_ifTheIntentIsForChainZero() public {
        Intent memory intent = plainIntent();
        intent.chainId = 0;
        funded(intent, AMOUNT);
        vm.expectRevert(abi.encodeCall(Errors.WrongChain, (0, 1)));
        factory.execute(intent);
    }

    function test_WrongChain_isReportedBeforeExpired() public {
        Intent memory intent = plainIntent();
        intent.chainId = 2;
        intent.expirationTimestamp = uint64(NOW - 1);
        vm.expectRevert(abi.encodeCall(Errors.WrongChain, (2, 1)));
        factory.execute(intent);
    }

    function test_Expired_ifTheExpiryIsZero() public {
        Intent memory intent = plainIntent();
        intent.expirationTimestamp = 0;
        address vault = funded(intent, AMOUNT);
        vm.expectRevert(abi.encodeCall(Errors.Expired, (0, NOW)));
        factory.execute(intent);
        factory.recover(intent, list(address(token)));
        equal(vault.code.length, 42, "closed");
        equal(token.balanceOf(RECOVERY), AMOUNT, "recovered");
    }

    function test_Underfunded_ifTheVaultIsEmpty_unlessTheAmountIsZero() public {
        Intent memory intent = plainIntent();
        address vault = factory.addressOf(intent);
        vm.expectRevert(abi.encodeCall(Errors.Underfunded, (vault, AMOUNT, 0)));
        factory.execute(intent);
        intent = intentOf(transferCall(MERCHANT, 0));
        intent.amount = 0;
        factory.execute(intent);
        equal(factory.addressOf(intent).code.length, 41, "executed for nothing");
    }

    /// @dev Executes intents with 1 to 40 calls. Most of these numbers are near a power of two. The
    /// library allows at most 32 calls.
    function test_everyCallRuns_regardlessOfTheirNumber() public {
        uint256[9] memory counts = [uint256(1), 2, 8, 15, 16, 17, 31, 32, 40];
        for (uint256 i = 0; i < counts.length; ++i) {
            Call[] memory calls = new Call[](counts[i]);
            for (uint256 j = 0; j < calls.length; ++j) {
                calls[j] = transferCall(MERCHANT, j + 1);
            }
            Intent memory intent = intentOf(calls);
            funded(intent, AMOUNT);
            uint256 before = token.balanceOf(MERCHANT);
            factory.execute(intent);
            uint256 wanted = counts[i] * (counts[i] + 1) / 2;
            equal(token.balanceOf(MERCHANT) - before, wanted, "each call, once");
        }
    }

    function test_aFailureOfTheLastOf40Calls_revertsAllCalls() public {
        Call[] memory calls = new Call[](40);
        for (uint256 j = 0; j < 39; ++j) {
            calls[j] = transferCall(MERCHANT, 1);
        }
        calls[39] = plainCall(address(shop), "fail()", "");
        Intent memory intent = intentOf(calls);
        address vault = funded(intent, AMOUNT);
        (bool ok, bytes memory reason) =
            address(factory).call(abi.encodeCall(factory.execute, (intent)));
        check(!ok && bytes4(reason) == Errors.CallFailed.selector, "CallFailed");
        holds(vault, AMOUNT, 0);
    }

    function test_everyTokenIsRecovered_andEveryItemRuns_regardlessOfTheirNumber() public {
        vm.warp(EXPIRY + 1);
        address[] memory tokens = new address[](40);
        for (uint256 i = 0; i < 39; ++i) {
            tokens[i] = address(token);
        }
        tokens[39] = NATIVE;
        bytes[] memory items = new bytes[](40);
        for (uint256 i = 0; i < 40; ++i) {
            Intent memory intent = plainIntent();
            vm.deal(funded(intent, AMOUNT), 1);
            items[i] = recovery(intent, tokens);
        }
        address[] memory vaults = factory.batch(items);
        for (uint256 i = 0; i < 40; ++i) {
            check(vaults[i] != address(0), "done");
        }
        equal(token.balanceOf(RECOVERY), 40 * AMOUNT, "token");
        equal(RECOVERY.balance, 40, "coin");
    }

    /// @dev The calldata contains an expired intent. The expired intent has one call, whose
    /// arguments contain an open intent. The offset, which should point to the expired intent,
    /// points to the open one. A faulty factory could check the open intent, but create the vault
    /// of the expired intent.
    function test_anOffsetIntoTheArguments_closesNoVault() public {
        Intent memory open = intentOf(new Call[](0));
        open.amount = 0;
        bytes memory body = withoutOffset(abi.encode(open));
        Intent memory expired = intentOf(plainCall(address(shop), "visit()", body));
        expired.expirationTimestamp = uint64(NOW - 1);
        address vault = funded(expired, AMOUNT);
        bytes memory data = abi.encodeCall(factory.execute, (expired));
        uint256 offset = data.length - body.length - 4;
        assembly {
            mstore(add(data, 36), offset)
        }
        vm.recordLogs();
        (bool ok,) = address(factory).call(data);
        check(!ok || vm.getRecordedLogs().length == 1, "refused, or another address");
        equal(vault.code.length, 0, "not closed");
        holds(vault, AMOUNT, 0);
    }

    function test_CallFailed_ifTransferReturnsAWordWhoseLastByteOnlyIsTrue() public {
        for (uint256 bit = 1; bit < 256; ++bit) {
            bytes memory answer = abi.encode(1 | (1 << bit));
            Intent memory intent = intentOf(transferCall(_answering(answer), MERCHANT, 1));
            funded(intent, AMOUNT);
            (bool ok, bytes memory reason) =
                address(factory).call(abi.encodeCall(factory.execute, (intent)));
            check(!ok && bytes4(reason) == Errors.CallFailed.selector, "CallFailed");
        }
    }

    function test_trueFollowedByMoreBytes_isTrue() public {
        for (uint256 more = 1; more < 300; more += 31) {
            bytes memory answer = bytes.concat(abi.encode(true), new bytes(more));
            Intent memory intent = intentOf(transferCall(_answering(answer), MERCHANT, 1));
            address vault = funded(intent, AMOUNT);
            check(factory.execute(intent) == vault, "executed");
        }
    }

    function test_trueFollowedByMoreBytes_isTrueForARecovery() public {
        LongToken long = new LongToken(0);
        Intent memory intent = plainIntent();
        address vault = factory.addressOf(intent);
        long.mint(vault, 5);
        vm.warp(EXPIRY + 1);
        vm.expectEmit(true, true, true, true, address(factory));
        emit IPaymentFactory.Recovered(vault, address(long), 5);
        factory.recover(intent, list(address(long)));
    }

    /// @dev A return value counts only if the selector is exactly that of transfer, transferFrom,
    /// or approve.
    function test_falseFromSimilarSelectors_isIgnored() public {
        string[8] memory signatures = [
            "increaseAllowance(address,uint256)",
            "decreaseAllowance(address,uint256)",
            "transferAndCall(address,uint256)",
            "approveAndCall(address,uint256)",
            "safeTransfer(address,uint256)",
            "safeTransferFrom(address,address,uint256)",
            "mint(address,uint256)",
            "transfer(address,uint128)"
        ];
        address answering = _answering(abi.encode(false));
        for (uint256 i = 0; i < signatures.length; ++i) {
            bytes memory args = abi.encode(MERCHANT, 1);
            Intent memory intent = intentOf(plainCall(answering, signatures[i], args));
            address vault = funded(intent, AMOUNT);
            check(factory.execute(intent) == vault, signatures[i]);
        }
    }

    /// @dev Assumption 2: a target without the function runs its fallback, as WETH does.
    function test_aFunctionThatTheTargetLacks_runsItsFallback() public {
        Depositary depositary = new Depositary();
        Intent memory intent =
            intentOf(plainCall(address(depositary), "pay(uint256)", abi.encode(1)));
        funded(intent, AMOUNT);
        factory.execute(intent);
        equal(depositary.deposits(), 1, "a deposit of nothing");
    }

    /// @dev Assumption 4: Compound v2's mint returns 13 if it did nothing.
    function test_aFailureReportedByANumber_countsAsSuccess() public {
        Intent memory intent =
            intentOf(plainCall(_answering(abi.encode(13)), "mint(uint256)", abi.encode(1)));
        address vault = funded(intent, AMOUNT);
        check(factory.execute(intent) == vault, "executed");
    }

    /// @dev Assumption 5, EIP-7702: the account's code consists of `0xef0100` and the address whose
    /// code runs. In this test, that address has no code.
    function test_aCallToAnAccountDelegatedToNoCode_countsAsSuccess() public {
        address account = address(0xACC07702);
        vm.etch(account, abi.encodePacked(hex"ef0100", address(0xDEAD7702)));
        Intent memory intent = intentOf(plainCall(account, "pay(uint256)", abi.encode(1)));
        address vault = funded(intent, AMOUNT);
        check(factory.execute(intent) == vault, "executed");
    }

    function test_aLongArgument_reachesTheTargetUnchanged() public {
        Answering target = Answering(_answering(""));
        bytes memory args = new bytes(20_000);
        args[0] = 0x11;
        args[19_999] = 0x77;
        Intent memory intent = intentOf(plainCall(address(target), "take(bytes)", args));
        funded(intent, AMOUNT);
        factory.execute(intent);
        bytes memory wanted = bytes.concat(bytes4(keccak256("take(bytes)")), args);
        check(target.seen() == keccak256(wanted), "selector and arguments");
    }

    function test_theVaultsNativeCoin_isNotSentWithTheCalls() public {
        Intent memory intent = intentOf(plainCall(address(shop), "receiveCoin()", ""));
        address vault = funded(intent, AMOUNT);
        vm.deal(vault, 3);
        factory.execute(intent);
        equal(vault.balance, 3, "calls carry no coin");
    }

    function test_aRecoveryLongAfterExpiry_runsNoCall() public {
        Intent memory intent = intentOf(plainCall(address(shop), "visit()", ""));
        address vault = funded(intent, AMOUNT);
        vm.warp(EXPIRY + 4000 days);
        factory.recover(intent, list(address(token)));
        equal(shop.visits(), 0, "visits");
        equal(vault.code.length, 42, "closed");
        equal(token.balanceOf(RECOVERY), AMOUNT, "recovered");
    }

    function test_theHighestAmount_isRecovered() public {
        Intent memory intent = plainIntent();
        token.mint(factory.addressOf(intent), type(uint256).max);
        vm.warp(EXPIRY + 1);
        factory.recover(intent, list(address(token)));
        equal(token.balanceOf(RECOVERY), type(uint256).max, "recovered");
    }

    function test_NotRecovery_forAnyOtherAddressInTheIntent() public {
        Intent memory intent = plainIntent();
        address vault = funded(intent, AMOUNT);
        vm.warp(EXPIRY + 1);
        address[5] memory others =
            [intent.token, intent.calls[0].target, MERCHANT, address(factory), vault];
        for (uint256 i = 0; i < 5; ++i) {
            vm.prank(others[i]);
            vm.expectRevert(abi.encodeCall(Errors.NotRecovery, (RECOVERY, others[i])));
            factory.rescue(intent, address(token), 0, "");
        }
    }

    function test_aBalanceFollowedByMoreBytes_isTheFirstWord() public {
        LongToken long = new LongToken(0);
        token = long;
        Intent memory intent = plainIntent();
        address vault = factory.addressOf(intent);
        long.mint(vault, AMOUNT + 3);
        vm.expectEmit(true, true, true, true, address(factory));
        emit IPaymentFactory.Executed(vault, address(long), AMOUNT + 3, 3);
        factory.execute(intent);
    }

    function test_aBalanceThatCosts1500000Gas_isRead() public {
        LongToken dear = new LongToken(1_500_000);
        token = dear;
        Intent memory intent = plainIntent();
        address vault = factory.addressOf(intent);
        dear.mint(vault, AMOUNT + 3);
        factory.execute(intent);
        equal(dear.held(vault), 3, "executed");
        factory.recover(intent, list(address(dear)));
        equal(dear.held(vault), 0, "recovered");
    }

    /// @dev If a token burned all the remaining gas, only 1/64 would be left (EIP-150). This is not
    /// enough gas to move the next token.
    function test_tokensThatBurnAllTheirGas_leaveTheNextTokenItsShare() public {
        vm.warp(EXPIRY + 1);
        for (uint256 burning = 1; burning <= 3; ++burning) {
            Intent memory intent = plainIntent();
            address vault = funded(intent, AMOUNT);
            address[] memory tokens = new address[](burning + 1);
            for (uint256 i = 0; i < burning; ++i) {
                tokens[i] = address(new Burner());
            }
            tokens[burning] = address(token);
            factory.recover{gas: 400_000 * (burning + 1)}(intent, tokens);
            equal(token.balanceOf(vault), 0, "recovered");
        }
    }

    function _answering(bytes memory answer) private returns (address) {
        return address(new Answering(answer));
    }
}

/// @dev Returns the same bytes for every call, and stores the hash of the calldata.
contract Answering {
    bytes32 public seen;
    bytes private answer;

    constructor(bytes memory answer_) {
        answer = answer_;
    }

    fallback() external {
        seen = keccak256(msg.data);
        bytes memory told = answer;
        assembly {
            return(add(told, 32), mload(told))
        }
    }
}

contract Burner {
    fallback() external {
        assembly {
            invalid()
        }
    }
}

/// @dev Returns two words instead of one, and burns `gas_` before it returns a balance.
contract LongToken is PlainToken {
    uint256 private immutable GAS;

    constructor(uint256 gas_) {
        GAS = gas_;
    }

    function balanceOf(address account) public view override returns (uint256) {
        uint256 wanted = gasleft() > GAS ? gasleft() - GAS : 0;
        while (gasleft() > wanted) {}
        _answer(slots[account]);
    }

    function held(address account) external view returns (uint256) {
        return slots[account];
    }

    function transfer(address to, uint256 amount) public override returns (bool) {
        slots[msg.sender] -= amount;
        slots[to] += amount;
        _answer(1);
    }

    function _answer(uint256 word) private pure {
        assembly {
            mstore(0, word)
            mstore(32, 7)
            return(0, 64)
        }
    }
}

/// @dev Treats any unknown call as a deposit.
contract Depositary {
    uint256 public deposits;

    fallback() external payable {
        deposits++;
    }
}

// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Collector} from "../../periphery/Collector.sol";
import {Call, Intent, IPaymentFactory} from "../../src/IPaymentFactory.sol";
import {Fixture} from "../Fixture.sol";
import {PlainToken} from "../tokens/PlainToken.sol";
import {FalseToken, FeeToken, HalfToken, SilentToken} from "../tokens/OddTokens.sol";
import {vm} from "../Vm.sol";

/// @dev The amount is 25 units of a token with six decimals, with a tolerance of 1 %.
contract CollectorTest is Fixture {
    uint256 private constant MOST = 25_000_000;
    uint256 private constant LEAST = 24_750_000;

    Collector private collector = new Collector();
    ScriptedToken private scripted = new ScriptedToken();

    function test_TooLittle_ifTheCallerHasLessThanLeast(uint256 held) public {
        held = bounded(held, 0, LEAST - 1);
        token.mint(address(this), held);
        token.approve(address(collector), MOST);
        refused(
            address(token),
            abi.encodeWithSelector(Collector.TooLittle.selector, address(token), LEAST, held)
        );
        equal(token.balanceOf(address(this)), held, "kept");
    }

    function test_TooLittle_ifMostIsBelowLeast() public {
        token.mint(address(this), MOST);
        token.approve(address(collector), MOST);
        vm.expectRevert(
            abi.encodeWithSelector(Collector.TooLittle.selector, address(token), LEAST, LEAST - 1)
        );
        collector.collect(address(token), MERCHANT, LEAST, LEAST - 1);
    }

    function test_TooLittleArrived_ifTheTokenTakesAFee() public {
        FeeToken fee = new FeeToken();
        fee.mint(address(this), LEAST);
        fee.approve(address(collector), MOST);
        uint256 arrives = LEAST - LEAST / 100;
        refused(address(fee), arrived(address(fee), MERCHANT, arrives));

        HalfToken half = new HalfToken();
        half.mint(address(this), MOST);
        half.approve(address(collector), MOST);
        refused(address(half), arrived(address(half), MERCHANT, MOST / 2));
        equal(half.balanceOf(address(this)), MOST, "all or nothing");
    }

    function test_TooLittleArrived_ifTheRecipientIsTheCaller() public {
        token.mint(address(this), MOST);
        token.approve(address(collector), MOST);
        vm.expectRevert(arrived(address(token), address(this), 0));
        collector.collect(address(token), address(this), LEAST, MOST);
    }

    function test_CollectFailed_ifTheTokenReverts() public {
        FalseToken answersFalse = new FalseToken();
        answersFalse.mint(address(this), MOST);
        refused(address(answersFalse), failed(address(answersFalse)));

        token.mint(address(this), MOST);
        refused(address(token), failed(address(token)));

        SilentToken silent = new SilentToken();
        silent.mint(address(this), MOST);
        refused(address(silent), failed(address(silent)));
    }

    function test_CollectFailed_ifTheTokenDoesNotReturnTrue(uint256 word, uint256 size) public {
        OddAnswer odd = new OddAnswer();
        odd.set(abi.encode(word == 1 ? 0 : word), 32);
        refused(address(odd), failed(address(odd)));
        odd.set(abi.encode(1), bounded(size, 1, 31));
        refused(address(odd), failed(address(odd)));
    }

    function test_BalanceUnknown_ifTheTokenHasNoCode_forCollect() public {
        bytes memory reason =
            abi.encodeWithSelector(Collector.BalanceUnknown.selector, STRANGER, address(this));
        refused(STRANGER, reason);
    }

    /// @dev Nobody else can use an account's approval.
    function test_TooLittle_ifADifferentAccountApproved() public {
        token.mint(MERCHANT, MOST);
        vm.prank(MERCHANT);
        token.approve(address(collector), MOST);
        refused(
            address(token),
            abi.encodeWithSelector(Collector.TooLittle.selector, address(token), LEAST, 0)
        );
        equal(token.balanceOf(MERCHANT), MOST, "kept");
    }

    function test_collect_movesTheBalanceUpToMost(uint256 held) public {
        held = bounded(held, LEAST, type(uint128).max);
        token.mint(address(this), held);
        token.approve(address(collector), MOST);
        collector.collect(address(token), MERCHANT, LEAST, MOST);
        uint256 moved = held < MOST ? held : MOST;
        equal(token.balanceOf(MERCHANT), moved, "moved");
        equal(token.balanceOf(address(this)), held - moved, "the rest");
        equal(token.balanceOf(address(collector)), 0, "keeps none");
    }

    function test_collect_acceptsATokenThatReturnsNoData() public {
        SilentToken silent = new SilentToken();
        silent.mint(address(this), LEAST);
        silent.approve(address(collector), MOST);
        collector.collect(address(silent), MERCHANT, LEAST, MOST);
        equal(silent.balanceOf(MERCHANT), LEAST, "moved");
    }

    function test_collect_acceptsAFeeWithinTheTolerance() public {
        FeeToken fee = new FeeToken();
        fee.mint(address(this), MOST);
        fee.approve(address(collector), MOST);
        collector.collect(address(fee), MERCHANT, LEAST, MOST);
        equal(fee.balanceOf(MERCHANT), LEAST, "a fee of 1 %");
    }

    function test_Underfunded_ifAnIntentHasLessThanLeast() public {
        Intent memory intent = tolerant();
        address vault = funded(intent, 24_700_000);
        vm.expectRevert(
            abi.encodeWithSelector(IPaymentFactory.Underfunded.selector, vault, LEAST, 24_700_000)
        );
        factory.execute(intent);
    }

    function test_execute_forwardsAShortPayment() public {
        Intent memory intent = tolerant();
        address vault = funded(intent, 24_900_000);
        factory.execute(intent);
        equal(token.balanceOf(MERCHANT), 24_900_000, "all of it");
        equal(token.balanceOf(vault), 0, "nothing is left");
    }

    function test_execute_leavesTheSurplusToRecovery() public {
        Intent memory intent = tolerant();
        address vault = funded(intent, 26_000_000);
        factory.execute(intent);
        equal(token.balanceOf(MERCHANT), MOST, "the price");
        equal(token.balanceOf(vault), 1_000_000, "the surplus");
        address[] memory tokens = new address[](1);
        tokens[0] = address(token);
        factory.recover(intent, tokens);
        equal(token.balanceOf(RECOVERY), 1_000_000, "returned");
    }

    /// @dev Tests zero, amounts around each bound, and amounts with the same low 32 bits.
    function test_collect_movesAnyAmountWithinItsLimits() public {
        uint256[4] memory helds = [uint256(0), 1, 2, 2 ** 32 + 1];
        uint256[4] memory mosts = [uint256(0), 1, 2 ** 32, type(uint256).max];
        uint256[4] memory leasts = [uint256(0), 1, 2, 2 ** 32];
        uint256[3] memory befores = [uint256(0), 1, 2 ** 32 + 1];
        uint256[4] memory moves = [uint256(0), 1, 2, 2 ** 32];
        Script memory script;
        for (uint256 i = 0; i < 4 ** 4 * 3; ++i) {
            script.held = helds[i % 4];
            script.before = befores[i / 4 ** 4];
            script.later = script.before + moves[i / 16 % 4];
            uint256 least = leasts[i / 64 % 4];
            assertAsModel(script, least, mosts[i / 4 % 4]);
            // Also tries a transfer after which the recipient has less than before.
            script.later = script.before / 2;
            assertAsModel(script, least, mosts[i / 4 % 4]);
        }
    }

    function test_collect_succeedsOnlyIfTheTokenReturnsTrueOrNoData() public {
        Script memory script = Script(2 ** 32, 0, 2 ** 32, false, "", false, false);
        uint256[3] memory words = [uint256(1), 2 ** 64 + 1, 2 ** 128 + 1];
        for (uint256 least = 0; least <= 2; ++least) {
            for (uint256 i = 0; i < 12; ++i) {
                bytes memory word = abi.encode(words[i % 3]);
                script.answer = i < 6 ? word : abi.encodePacked(word, word);
                script.fails = i % 6 < 3;
                script.laterFails = false;
                assertAsModel(script, least, least == 2 ? least : 2 ** 32);
                script.laterFails = true;
                assertAsModel(script, least, least == 2 ? least : 2 ** 32);
            }
        }
    }

    /// @dev If `balanceOf` reverts with one word of data, this word is not a balance.
    function test_BalanceUnknown_ifTheTokenRevertsWithOneWord() public {
        Script memory script = Script(2, 0, 2, false, "", true, false);
        assertAsModel(script, 2, 2);
        assertAsModel(script, 3, 3);
    }

    /// @dev Tries two recipients: a stranger, and the caller itself.
    function assertAsModel(Script memory script, uint256 least, uint256 most) private {
        assertAsModel(script, MERCHANT, least, most);
        uint256 before = script.before;
        script.before = script.held;
        assertAsModel(script, address(this), least, most);
        script.before = before;
    }

    function assertAsModel(Script memory script, address to, uint256 least, uint256 most) private {
        scripted.set(script);
        uint256 amount = script.held < most ? script.held : most;
        bytes memory reason = reasonOf(address(scripted), script, to, least, amount);
        if (reason.length != 0) vm.expectRevert(reason);
        collector.collect(address(scripted), to, least, most);
        if (reason.length == 0) equal(scripted.asked(), amount, "asked for");
    }

    /// @dev Returns the error that the interface promises, or an empty text if the call succeeds.
    function reasonOf(
        address asked,
        Script memory script,
        address to,
        uint256 least,
        uint256 amount
    ) private view returns (bytes memory) {
        if (amount < least) {
            return abi.encodeWithSelector(Collector.TooLittle.selector, asked, least, amount);
        }
        bytes memory unknown = abi.encodeWithSelector(Collector.BalanceUnknown.selector, asked, to);
        if (script.beforeFails && to != address(this)) return unknown;
        bool isTrue = script.answer.length == 0 || script.answer.length >= 32
            && uint256(bytes32(script.answer)) == 1;
        if (script.fails || !isTrue) {
            return abi.encodeWithSelector(Collector.CollectFailed.selector, asked, to, amount);
        }
        if (script.laterFails) return unknown;
        uint256 found = script.later > script.before ? script.later - script.before : 0;
        if (found >= least) return "";
        return abi.encodeWithSelector(Collector.TooLittleArrived.selector, asked, to, least, found);
    }

    /// @dev Pays the merchant at least LEAST and at most MOST.
    function tolerant() private returns (Intent memory intent) {
        Call[] memory calls = new Call[](2);
        calls[0] = approveCall(address(token), address(collector), MOST);
        calls[1] = Call(
            address(collector),
            "collect(address,address,uint256,uint256)",
            "token,recipient,least,most",
            abi.encode(address(token), MERCHANT, LEAST, MOST)
        );
        intent = intentOf(calls);
        intent.amount = LEAST;
    }

    function failed(address asked) private pure returns (bytes memory) {
        return abi.encodeWithSelector(Collector.CollectFailed.selector, asked, MERCHANT, MOST);
    }

    function arrived(address asked, address to, uint256 found)
        private
        pure
        returns (bytes memory)
    {
        return abi.encodeWithSelector(Collector.TooLittleArrived.selector, asked, to, LEAST, found);
    }

    function refused(address asked, bytes memory reason) private {
        vm.expectRevert(reason);
        collector.collect(asked, MERCHANT, LEAST, MOST);
    }
}

/// @dev Reports a sufficient balance for every account, and returns configured bytes from
/// transferFrom.
contract OddAnswer {
    bytes private answer;
    uint256 private size;

    function set(bytes memory given, uint256 bytesOfIt) external {
        (answer, size) = (given, bytesOfIt);
    }

    function balanceOf(address) external pure returns (uint256) {
        return 1e30;
    }

    fallback() external {
        (bytes memory given, uint256 length) = (answer, size);
        assembly {
            return(add(given, 32), length)
        }
    }
}

/// @dev The caller's balance, and the recipient's balances before and after the transfer.
struct Script {
    uint256 held;
    uint256 before;
    uint256 later;
    bool fails;
    bytes answer;
    bool beforeFails;
    bool laterFails;
}

/// @dev Returns the results that the test configured. A failing `balanceOf` reverts with 32 bytes
/// of data.
contract ScriptedToken {
    uint256 public asked;
    Script private script;
    address private caller;
    bool private isMoved;

    function set(Script calldata given) external {
        (script, caller, isMoved) = (given, msg.sender, false);
    }

    function balanceOf(address holder) external view returns (uint256) {
        if (isMoved) return answerUnless(script.laterFails, script.later);
        if (holder == caller) return script.held;
        return answerUnless(script.beforeFails, script.before);
    }

    function transferFrom(address from, address, uint256 amount) external {
        (isMoved, asked) = (true, amount);
        bytes memory answer = script.answer;
        bool isDone = !script.fails && from == caller;
        assembly {
            if isDone { return(add(answer, 32), mload(answer)) }
            revert(add(answer, 32), mload(answer))
        }
    }

    function answerUnless(bool fails, uint256 balance) private pure returns (uint256) {
        if (!fails) return balance;
        assembly {
            mstore(0, not(0))
            revert(0, 32)
        }
    }
}

// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Tip} from "../../periphery/Tip.sol";
import {Call, Intent} from "../../src/IPaymentFactory.sol";
import {Fixture} from "../Fixture.sol";
import {FalseToken, SilentToken} from "../tokens/OddTokens.sol";
import {vm} from "../Vm.sol";

contract TipTest is Fixture {
    uint256 private constant TIP = 1_000;

    Tip private tip = new Tip();

    function test_TipFailed_ifTheTokenReverts() public {
        FalseToken answersFalse = new FalseToken();
        answersFalse.mint(address(this), TIP);
        refused(address(answersFalse), "answers false");

        token.mint(address(this), TIP);
        refused(address(token), "nothing is approved");

        SilentToken silent = new SilentToken();
        silent.mint(address(this), TIP);
        refused(address(silent), "nothing is approved, and no answer");
    }

    function test_TipFailed_ifTheTokenHasNoCode() public {
        refused(STRANGER, "has no code");
    }

    function test_TipFailed_ifTheTokenDoesNotReturnTrue(uint256 word, uint256 size) public {
        bytes memory answer = abi.encode(word == 1 ? 0 : word);
        refused(address(new Answering(answer)), "another word");

        size = bounded(size, 1, 31);
        answer = abi.encode(1);
        assembly {
            mstore(answer, size)
        }
        refused(address(new Answering(answer)), "less than a word");
    }

    /// @dev Nobody else can use a vault's approval.
    function test_TipFailed_ifADifferentAccountApproved() public {
        token.mint(MERCHANT, TIP);
        vm.prank(MERCHANT);
        token.approve(address(tip), TIP);
        refused(address(token), "approved by another");
        equal(token.balanceOf(MERCHANT), TIP, "held still");
    }

    function test_tip_paysTheSenderOfTheTransaction() public {
        uint256 before = token.balanceOf(tx.origin);
        Call[] memory calls = new Call[](3);
        calls[0] = approveCall(address(token), address(tip), TIP);
        bytes memory args = abi.encode(address(token), TIP);
        calls[1] = Call(address(tip), "tip(address,uint256)", "token,amount", args);
        calls[2] = transferCall(MERCHANT, AMOUNT - TIP);
        Intent memory intent = intentOf(calls);
        funded(intent, AMOUNT);
        factory.execute(intent);
        equal(token.balanceOf(tx.origin) - before, TIP, "the sender's");
        equal(token.balanceOf(MERCHANT), AMOUNT - TIP, "the merchant's");
        equal(token.balanceOf(address(tip)), 0, "none stays");
    }

    function test_tip_acceptsATokenThatReturnsNoData() public {
        SilentToken silent = new SilentToken();
        silent.mint(address(this), TIP);
        silent.approve(address(tip), TIP);
        tip.tip(address(silent), TIP);
        equal(silent.balanceOf(tx.origin), TIP, "the sender's");
    }

    function refused(address asked, string memory why) private {
        (bool ok, bytes memory reason) = address(tip).call(abi.encodeCall(tip.tip, (asked, TIP)));
        check(!ok, why);
        bytes memory wanted = abi.encodeWithSelector(Tip.TipFailed.selector, asked, tx.origin, TIP);
        check(keccak256(reason) == keccak256(wanted), why);
    }
}

/// @dev Returns the same bytes for every call.
contract Answering {
    bytes private answer;

    constructor(bytes memory given) {
        answer = given;
    }

    fallback() external {
        bytes memory given = answer;
        assembly {
            return(add(given, 32), mload(given))
        }
    }
}

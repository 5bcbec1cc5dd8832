// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {DemoShop} from "../demo/DemoShop.sol";
import {DemoToken} from "../demo/DemoToken.sol";
import {Fixture} from "./Fixture.sol";
import {FalseToken} from "./tokens/OddTokens.sol";
import {vm} from "./Vm.sol";

contract DemoTest is Fixture {
    DemoToken private demo = new DemoToken("Demo", "DEMO", 6);

    function test_InsufficientBalance_ifThePayerHasLess() public {
        demo.mint(address(this), AMOUNT - 1);
        vm.expectRevert(
            abi.encodeWithSelector(
                DemoToken.InsufficientBalance.selector, address(this), AMOUNT, AMOUNT - 1
            )
        );
        demo.transfer(MERCHANT, AMOUNT);
    }

    function test_InsufficientAllowance_ifLessIsApproved() public {
        demo.mint(MERCHANT, AMOUNT);
        vm.prank(MERCHANT);
        demo.approve(address(this), AMOUNT - 1);
        vm.expectRevert(
            abi.encodeWithSelector(
                DemoToken.InsufficientAllowance.selector, address(this), AMOUNT, AMOUNT - 1
            )
        );
        demo.transferFrom(MERCHANT, address(this), AMOUNT);
    }

    function test_PaymentFailed_ifTheTokenReturnsFalse() public {
        DemoShop refused = new DemoShop(address(new FalseToken()));
        vm.expectRevert(
            abi.encodeWithSelector(DemoShop.PaymentFailed.selector, address(this), AMOUNT)
        );
        refused.pay(42, AMOUNT);
    }

    function test_pay_takesTheApprovedAmount() public {
        DemoShop taking = new DemoShop(address(demo));
        demo.mint(address(this), AMOUNT);
        demo.approve(address(taking), AMOUNT);
        taking.pay(42, AMOUNT);
        equal(demo.balanceOf(address(taking)), AMOUNT, "taken");
    }
}

// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Call, Intent, IPaymentFactory} from "../src/IPaymentFactory.sol";
import {Errors} from "./Errors.sol";
import {Fixture} from "./Fixture.sol";
import {vm} from "./Vm.sol";
import {FiatToken, FiatTokenProxy} from "./tokens/FiatToken.sol";
import {
    BlockingToken,
    FalseToken,
    FeeToken,
    HookToken,
    NoZeroApproveToken,
    SilentToken
} from "./tokens/OddTokens.sol";
import {PlainToken} from "./tokens/PlainToken.sol";

/// @dev Tests payments in each kind of token. Also tests returns of excess and late money, and
/// refunds after the expiry.
contract TokensTest is Fixture {
    function life(address kind) private {
        token = PlainToken(kind);
        Intent memory intent = payIntent();
        address vault = funded(intent, AMOUNT + 3);
        factory.execute(intent);
        equal(token.balanceOf(address(shop)), AMOUNT, "sold");
        token.mint(vault, 4);
        factory.recover(intent, list(kind));
        equal(token.balanceOf(RECOVERY), 7, "surplus and late money");

        Intent memory late = payIntent();
        address lateVault = funded(late, AMOUNT);
        vm.warp(EXPIRY + 1);
        factory.recover(late, list(kind));
        equal(token.balanceOf(RECOVERY), 7 + AMOUNT, "refunded");
        equal(token.balanceOf(vault) + token.balanceOf(lateVault), 0, "left");
        vm.warp(NOW);
    }

    function payIntent() private returns (Intent memory) {
        return intentOf(
            list(
                approveCall(address(token), address(shop), AMOUNT), payCall(address(token), AMOUNT)
            )
        );
    }

    function refused(Intent memory intent, bytes memory reason) private {
        vm.expectRevert(reason);
        factory.execute(intent);
    }

    function test_falseReturning_approve_isCallFailed() public {
        token = new FalseToken();
        Intent memory intent = payIntent();
        funded(intent, AMOUNT);
        refused(intent, abi.encodeCall(Errors.CallFailed, (0, address(token), abi.encode(false))));
    }

    function test_falseReturning_transferAndTransferFrom_areCallFailed() public {
        token = new FalseToken();
        Intent memory intent = plainIntent();
        funded(intent, AMOUNT);
        bytes memory reason =
            abi.encodeCall(Errors.CallFailed, (0, address(token), abi.encode(false)));
        refused(intent, reason);
        bytes memory args = abi.encode(STRANGER, MERCHANT, AMOUNT);
        intent = intentOf(plainCall(address(token), "transferFrom(address,address,uint256)", args));
        funded(intent, AMOUNT);
        refused(intent, reason);
    }

    function test_falseFromAnyOtherFunction_isIgnored() public {
        FalseSayer sayer = new FalseSayer();
        Intent memory intent = intentOf(plainCall(address(sayer), "say()", ""));
        funded(intent, AMOUNT);
        factory.execute(intent);
    }

    function test_transferThatDoesNotReturnTrue_isCallFailed(uint256 word, uint8 size) public {
        FalseSayer sayer = new FalseSayer();
        sayer.set(word, size);
        Intent memory intent = intentOf(transferCall(address(sayer), MERCHANT, AMOUNT));
        funded(intent, AMOUNT);
        (bool ok,) = address(factory).call(abi.encodeCall(factory.execute, (intent)));
        check(ok == (size == 0 || (size >= 32 && word == 1)), "true, or nothing, or refused");
    }

    /// @dev The previous call returned true, and its result can still be in memory. The factory
    /// must not read bytes of this old result if the next result is shorter.
    function test_aShortAnswerFromTransfer_isNotExtendedByThePreviousAnswer() public {
        FalseSayer sayer = new FalseSayer();
        for (uint256 size = 1; size < 32; size += 5) {
            // If `size` is even, the token returns the number 1 in only `size` bytes. A decoder
            // that adds leading zeros would read these bytes as true. If `size` is odd, the token
            // returns only zeros. If these zeros replaced only the start of the previous result,
            // the last byte would still be 1 (true).
            sayer.set(size % 2 == 0 ? uint256(1) << 8 * (32 - size) : 0, size);
            Intent memory intent = intentOf(
                list(
                    transferCall(MERCHANT, AMOUNT), transferCall(address(sayer), MERCHANT, AMOUNT)
                )
            );
            funded(intent, AMOUNT);
            (bool ok, bytes memory reason) =
                address(factory).call(abi.encodeCall(factory.execute, (intent)));
            check(!ok && bytes4(reason) == Errors.CallFailed.selector, "CallFailed");
        }
    }

    function test_usdtLike_approveFromNonZero_isCallFailed() public {
        token = PlainToken(address(new SilentToken()));
        Call memory approve = approveCall(address(token), address(shop), AMOUNT);
        Intent memory intent = intentOf(list(approve, approve));
        funded(intent, AMOUNT);
        bytes memory reason = abi.encodeWithSignature("Error(string)", "approve zero first");
        refused(intent, abi.encodeCall(Errors.CallFailed, (1, address(token), reason)));
    }

    function test_aTokenThatRevertsOnApproveOfZero_isCallFailed() public {
        token = new NoZeroApproveToken();
        Intent memory intent = intentOf(approveCall(address(token), address(shop), 0));
        funded(intent, AMOUNT);
        bytes memory reason = abi.encodeWithSignature("Error(string)", "approve of zero");
        refused(intent, abi.encodeCall(Errors.CallFailed, (0, address(token), reason)));
    }

    function test_aTokenWithoutCode_isBalanceUnknown_andIsNotRecovered() public {
        token = PlainToken(address(0x70CE17));
        Intent memory intent = payIntent();
        address vault = factory.addressOf(intent);
        refused(intent, abi.encodeCall(Errors.BalanceUnknown, (address(token), vault)));
        vm.warp(EXPIRY + 1);
        factory.recover(intent, list(address(token)));
    }

    /// @dev Assumption 6: if a token takes a fee, the vault receives less than the payer sends.
    function test_feeOnTransfer_isUnderfundedUntilThePayerAddsTheFee() public {
        FeeToken fee = new FeeToken();
        token = fee;
        Intent memory intent = plainIntent();
        address vault = factory.addressOf(intent);
        fee.mint(address(this), 2 * AMOUNT);
        fee.transfer(vault, AMOUNT);
        refused(intent, abi.encodeCall(Errors.Underfunded, (vault, AMOUNT, AMOUNT - AMOUNT / 100)));
        fee.transfer(vault, AMOUNT / 50);
        factory.execute(intent);
        equal(fee.balanceOf(MERCHANT), AMOUNT - AMOUNT / 100, "paid, less its fee");
        uint256 left = fee.balanceOf(vault);
        vm.expectEmit(true, true, true, true, address(factory));
        emit IPaymentFactory.Recovered(vault, address(fee), left);
        factory.recover(intent, list(address(fee)));
    }

    /// @dev Assumption 8: the intent runs if there is a moment at which every call succeeds.
    function test_blocking_theVault_waits_untilUnblockedOrExpired() public {
        BlockingToken blocking = new BlockingToken();
        token = blocking;
        Intent memory intent = plainIntent();
        address vault = funded(intent, AMOUNT);
        blocking.setBlocked(vault, true);
        bytes memory reason = abi.encodeWithSelector(BlockingToken.Blocked.selector, vault);
        refused(intent, abi.encodeCall(Errors.CallFailed, (0, address(token), reason)));
        blocking.setBlocked(vault, false);
        factory.execute(intent);
        holds(vault, 0, AMOUNT);
    }

    function test_proxiedFiatToken_paused_waits() public {
        FiatToken fiat = newFiatToken();
        token = fiat;
        Intent memory intent = plainIntent();
        address vault = funded(intent, AMOUNT);
        fiat.pause(true);
        bytes memory reason = abi.encodeWithSelector(FiatToken.Paused.selector);
        refused(intent, abi.encodeCall(Errors.CallFailed, (0, address(token), reason)));
        fiat.pause(false);
        factory.execute(intent);
        holds(vault, 0, AMOUNT);
    }

    function test_plain_life() public {
        life(address(token));
    }

    function test_usdtLike_life() public {
        life(address(new SilentToken()));
    }

    function test_blocking_life() public {
        life(address(new BlockingToken()));
    }

    function test_proxiedFiatToken_life() public {
        life(address(newFiatToken()));
    }

    function test_hook_life() public {
        HookToken hooked = new HookToken();
        hooked.setHook(address(new QuietHook()));
        life(address(hooked));
    }

    function test_revertingOnApproveOfZero_life() public {
        life(address(new NoZeroApproveToken()));
    }

    function newFiatToken() private returns (FiatToken) {
        return FiatToken(address(new FiatTokenProxy(address(new FiatToken()), address(1))));
    }
}

contract QuietHook {
    uint256 public moves;

    function onMove(address, address, uint256, bool) external {
        moves++;
    }
}

contract FalseSayer {
    uint256 private word;
    uint256 private size;

    function set(uint256 word_, uint256 size_) external {
        (word, size) = (word_, size_);
    }

    function say() external pure returns (bool) {
        return false;
    }

    function transfer(address, uint256) external view {
        uint256 bytesOfAnswer = size;
        uint256 answer = word;
        assembly {
            mstore(0x80, answer)
            return(0x80, bytesOfAnswer)
        }
    }
}

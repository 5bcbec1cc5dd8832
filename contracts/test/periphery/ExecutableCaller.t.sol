// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {DemoShop} from "../../demo/DemoShop.sol";
import {ExecutableCaller} from "../../periphery/ExecutableCaller.sol";
import {FACTORY} from "../../periphery/VaultCode.sol";
import {Intent, IPaymentFactory} from "../../src/IPaymentFactory.sol";
import {Fixture} from "../Fixture.sol";
import {vm} from "../Vm.sol";

contract ExecutableCallerTest is Fixture {
    DemoShop private demo;
    Gullible private gullible;

    uint256 private constant ORDER = 42;
    bytes32 private constant SALT = bytes32(uint256(7));
    /// @dev The number of callers per run of the fuzzer. With 256 runs, the long test covers
    /// 102,400 callers.
    uint256 private constant FORGED_PER_RUN = 400;

    function setUp() public override {
        super.setUp();
        demo = new DemoShop(address(token));
        gullible = new Gullible();
    }

    function test_NotVaultOfIntent_ifTheCallerIsForged(uint256 seed) public {
        address vault = vaultOfOrder();
        for (uint256 i = 0; i < FORGED_PER_RUN; ++i) {
            address forged = address(uint160(uint256(keccak256(abi.encode(seed, i)))));
            notVaultOfIntent(vault, forged);
        }
    }

    /// @dev Tests the vaults of other intents. Each intent differs from the expected intent in one
    /// field or call.
    function test_NotVaultOfIntent_forTheVaultOfADifferentIntent() public {
        address vault = vaultOfOrder();
        for (uint256 kind = 0; kind < 9; ++kind) {
            Intent memory forged = another(kind);
            funded(forged, AMOUNT);
            if (forged.chainId != 1) continue;
            (bool ok,) = address(factory).call(abi.encodeCall(factory.execute, (forged)));
            check(!ok, "its call is refused");
            notVaultOfIntent(vault, factory.addressOf(forged));
        }
    }

    /// @dev From the arguments of the call, the shop rebuilds the intent that contains this call.
    function test_pays_onlyFromTheVaultOfItsOrder() public {
        Intent memory intent = demo.intentOf(ORDER, AMOUNT, EXPIRY, RECOVERY, SALT);
        address vault = funded(intent, AMOUNT);
        vm.expectEmit(true, true, true, true, address(demo));
        emit DemoShop.Paid(ORDER, vault, AMOUNT);
        factory.execute(intent);
        equal(token.balanceOf(address(demo)), AMOUNT, "paid");
    }

    /// @dev After a vault is closed, `recovery` can make any call from the vault. The call need not
    /// be part of the intent.
    function test_NotWithinExecution_ifRecoveryImpersonatesTheIntent() public {
        Intent memory intent = demo.intentOf(ORDER, AMOUNT, EXPIRY, RECOVERY, SALT);
        address vault = funded(intent, AMOUNT);
        vm.warp(EXPIRY + 1);
        factory.recover(intent, new address[](0));
        bytes memory reason =
            abi.encodeWithSelector(ExecutableCaller.NotWithinExecution.selector, vault);
        vm.prank(RECOVERY);
        (bool ok, bytes memory found) = address(factory).call(rescueData(intent));
        check(!ok, "refused");
        sameBytes(found, callFailed(address(demo), reason), "for that reason");
    }

    function test_control_withoutTheCheckForCode_recoveryCanImpersonateTheIntent() public {
        Intent memory intent = intentOf(plainCall(address(gullible), "deliver()", ""));
        gullible.expect(intent);
        vm.warp(EXPIRY + 1);
        vm.prank(RECOVERY);
        factory.rescue(intent, address(gullible), 0, abi.encodeCall(gullible.deliver, ()));
        equal(gullible.delivered(), 1, "delivered though the intent never ran");
    }

    function test_anIntentOfTwoCalls_costsAtMost12000Gas() public {
        Intent memory intent = demo.intentOf(ORDER, AMOUNT, EXPIRY, RECOVERY, SALT);
        Meter meter = new Meter();
        address vault = factory.addressOf(intent);
        vm.prank(vault);
        uint256 used = meter.check(intent);
        check(used <= 12_000, "at most 12,000 gas");
    }

    function vaultOfOrder() private view returns (address) {
        return factory.addressOf(demo.intentOf(ORDER, AMOUNT, EXPIRY, RECOVERY, SALT));
    }

    /// @dev Checks that the demo shop refuses `caller`: only `wanted` may record the payment.
    function notVaultOfIntent(address wanted, address caller) private {
        vm.prank(caller);
        (bool ok, bytes memory found) = address(demo).call(payData(ORDER, RECOVERY));
        check(!ok, "refused");
        sameBytes(
            found,
            abi.encodeWithSelector(ExecutableCaller.NotVaultOfIntent.selector, wanted, caller),
            "for that reason"
        );
    }

    function another(uint256 kind) private view returns (Intent memory intent) {
        intent = demo.intentOf(ORDER, AMOUNT, EXPIRY, RECOVERY, SALT);
        if (kind == 0) intent.salt = bytes32(uint256(8));
        if (kind == 1) intent.recovery = STRANGER;
        if (kind == 2) intent.expirationTimestamp = EXPIRY + 1;
        if (kind == 3) intent.amount = 1;
        if (kind == 4) intent.chainId = 2;
        if (kind == 5) intent.calls = list(intent.calls[1]);
        if (kind == 6) intent.calls[1].names = "a,b,c,d,e";
        if (kind == 7) intent.calls[0].args = abi.encode(address(demo), AMOUNT + 1);
        if (kind == 8) (intent.calls[0], intent.calls[1]) = (intent.calls[1], intent.calls[0]);
    }

    function payData(uint256 orderId, address recovery) private view returns (bytes memory) {
        return abi.encodeCall(demo.payOrder, (orderId, AMOUNT, EXPIRY, recovery, SALT));
    }

    function rescueData(Intent memory intent) private view returns (bytes memory) {
        return abi.encodeCall(factory.rescue, (intent, address(demo), 0, payData(ORDER, RECOVERY)));
    }

    function callFailed(address target, bytes memory reason) private pure returns (bytes memory) {
        return abi.encodeWithSelector(IPaymentFactory.CallFailed.selector, 0, target, reason);
    }
}

/// @dev A target that checks only its caller, but not whether the vault is being executed.
contract Gullible {
    address private expected;
    uint256 public delivered;

    function expect(Intent calldata intent) external {
        expected = IPaymentFactory(FACTORY).addressOf(intent);
    }

    function deliver() external {
        require(msg.sender == expected, "another caller");
        delivered += 1;
    }
}

contract Meter is ExecutableCaller {
    function check(Intent memory intent) external view returns (uint256) {
        uint256 before = gasleft();
        _onlyVaultOf(intent);
        return before - gasleft();
    }
}

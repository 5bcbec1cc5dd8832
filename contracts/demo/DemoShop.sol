// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ExecutableCaller} from "../periphery/ExecutableCaller.sol";
import {Call, Intent} from "../src/IPaymentFactory.sol";
import {IERC20} from "../src/Vault.sol";

/// @notice A shop for local chains. Orders are paid in one token, after the payer has approved the
/// shop.
contract DemoShop is ExecutableCaller {
    address public immutable token;

    event Paid(uint256 indexed orderId, address indexed payer, uint256 amount);

    error PaymentFailed(address payer, uint256 amount);

    constructor(address token_) {
        token = token_;
    }

    /// @notice Takes the payment of an order from anyone.
    function pay(uint256 orderId, uint256 amount) external {
        _take(orderId, amount);
    }

    /// @notice Takes the payment of an order. The caller must be the vault of the order's intent.
    /// The calls of this intent are an approval and a call of this function.
    /// @dev The caller passes `expiry`, `recovery`, and `salt`, because an order does not define
    /// them.
    function payOrder(
        uint256 orderId,
        uint256 amount,
        uint64 expiry,
        address recovery,
        bytes32 salt
    ) external {
        _onlyVaultOf(intentOf(orderId, amount, expiry, recovery, salt));
        _take(orderId, amount);
    }

    /// @notice Returns the only intent that can call {payOrder} with these arguments on this chain.
    function intentOf(
        uint256 orderId,
        uint256 amount,
        uint64 expiry,
        address recovery,
        bytes32 salt
    ) public view returns (Intent memory) {
        Call[] memory calls = new Call[](2);
        calls[0] = Call(
            token, "approve(address,uint256)", "spender,amount", abi.encode(address(this), amount)
        );
        calls[1] = Call(
            address(this),
            "payOrder(uint256,uint256,uint64,address,bytes32)",
            "orderId,amount,expiry,recovery,salt",
            abi.encode(orderId, amount, expiry, recovery, salt)
        );
        return Intent(token, amount, calls, expiry, recovery, salt, block.chainid);
    }

    function _take(uint256 orderId, uint256 amount) private {
        if (!IERC20(token).transferFrom(msg.sender, address(this), amount)) {
            revert PaymentFailed(msg.sender, amount);
        }
        // The event can follow the external call, because the shop has no state that a reentrant
        // call could misuse: such a call is another payment with its own event.
        emit Paid(orderId, msg.sender, amount);
    }
}

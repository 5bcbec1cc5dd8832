// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

interface IToken {
    function transferFrom(address from, address to, uint256 amount) external returns (bool);
}

/// @notice A shop for local chains: takes payments of one token by order, after an `approve`.
contract DemoShop {
    address public immutable token;

    event Paid(uint256 indexed orderId, address indexed payer, uint256 amount);

    error PaymentFailed(address payer, uint256 amount);

    constructor(address token_) {
        token = token_;
    }

    function pay(uint256 orderId, uint256 amount) external {
        emit Paid(orderId, msg.sender, amount);
        if (!IToken(token).transferFrom(msg.sender, address(this), amount)) {
            revert PaymentFailed(msg.sender, amount);
        }
    }
}

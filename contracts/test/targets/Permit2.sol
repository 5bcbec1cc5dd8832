// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {PlainToken} from "../tokens/PlainToken.sol";

/// @notice The allowances of Uniswap's Permit2, without its signatures. Permit2 can pull a token
/// only if the owner has approved Permit2 in the token itself.
contract Permit2 {
    struct Allowance {
        uint160 amount;
        uint48 expiration;
        uint48 nonce;
    }

    mapping(address owner => mapping(address token => mapping(address spender => Allowance)))
        public allowance;

    error AllowanceExpired(uint256 expiration);

    function approve(address token, address spender, uint160 amount, uint48 expiration) external {
        allowance[msg.sender][token][spender] = Allowance(amount, expiration, 0);
    }

    function transferFrom(address from, address to, uint160 amount, address token) external {
        Allowance storage given = allowance[from][token][msg.sender];
        if (block.timestamp > given.expiration) revert AllowanceExpired(given.expiration);
        given.amount -= amount;
        PlainToken(token).transferFrom(from, to, amount);
    }
}

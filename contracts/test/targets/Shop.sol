// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {PlainToken} from "../tokens/PlainToken.sol";

/// @notice What an intent may call: takes payments, and fails in the ways targets fail.
contract Shop {
    uint256 public visits;
    address public lastPayer;
    bool public lastPayerHadNoCode;

    error ShopClosed(uint256 visit);

    function pay(address token, uint256 amount) external {
        visits++;
        lastPayer = msg.sender;
        (bool ok, bytes memory answer) = token.call(
            abi.encodeCall(PlainToken.transferFrom, (msg.sender, address(this), amount))
        );
        require(ok && (answer.length == 0 || abi.decode(answer, (bool))), "payment failed");
    }

    function visit() external {
        visits++;
        lastPayer = msg.sender;
        lastPayerHadNoCode = msg.sender.code.length == 0;
    }

    function fail() external {
        visits++;
        revert ShopClosed(visits);
    }

    /// @notice Answers, or fails with, `size` bytes.
    function bomb(uint256 size, bool succeed) external pure {
        assembly {
            if succeed { return(0, size) }
            revert(0, size)
        }
    }

    function burnGas() external pure {
        assembly {
            invalid()
        }
    }

    function receiveCoin() external payable {}
}

// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {PlainToken} from "../tokens/PlainToken.sol";

/// @notice A typical target of an intent. It accepts payments, and fails in typical ways.
contract Shop {
    uint256 public visits;
    address public lastPayer;
    bool public lastPayerHadNoCode;

    uint256[] private shelf;

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

    /// @notice Returns, or fails with, `size` bytes.
    function bomb(uint256 size, bool succeed) external pure {
        assembly {
            if succeed { return(0x80, size) }
            revert(0x80, size)
        }
    }

    function burnGas() external pure {
        assembly {
            invalid()
        }
    }

    /// @notice Needs about 22,100 gas per item.
    function stock(uint256 items) external {
        for (uint256 i = 0; i < items; ++i) {
            shelf.push(i + 1);
        }
    }

    function stocked() external view returns (uint256) {
        return shelf.length;
    }

    function receiveCoin() external payable {}
}

// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC20} from "../src/Vault.sol";

/// @notice The holder and the token of a requested balance. The zero address means native coin.
struct Holder {
    address owner;
    address token;
}

/// @notice `known` is false if the token did not return a word; `amount` is then 0.
struct Balance {
    bool known;
    uint256 amount;
}

/// @dev A token can be any contract. The call therefore gets at most `gasMax`, and only one word of
/// its result is copied.
function balanceOf(Holder memory holder, uint256 gasMax) view returns (Balance memory balance) {
    if (holder.token == address(0)) return Balance(true, holder.owner.balance);
    address token = holder.token;
    bytes memory question = abi.encodeCall(IERC20.balanceOf, holder.owner);
    bool known;
    uint256 amount;
    // Assembly, because Solidity's call copies the whole result, regardless of its size.
    assembly ("memory-safe") {
        known := staticcall(gasMax, token, add(question, 32), mload(question), 0, 32)
        known := and(known, gt(returndatasize(), 31))
        amount := mul(known, mload(0))
    }
    return Balance(known, amount);
}

/// @dev Ends a constructor and returns `answer` as the code to deploy. An eth_call of a contract
/// creation returns this code, but deploys nothing. Assembly, because a Solidity constructor can
/// return only the contract's compiled code.
function answerWith(bytes memory answer) pure {
    assembly ("memory-safe") {
        return(add(answer, 32), mload(answer))
    }
}

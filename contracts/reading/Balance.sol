// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

interface IERC20 {
    function balanceOf(address account) external view returns (uint256);
}

/// @notice Whose balance is asked, and of what. The zero address as token asks for native coin.
struct Holder {
    address owner;
    address token;
}

/// @notice `known` is false where the token did not answer with a word; `amount` is 0 then.
struct Balance {
    bool known;
    uint256 amount;
}

/// @dev A token may be anything: it gets `gasMax` at most, and of its answer one word is copied.
function balanceOf(Holder memory holder, uint256 gasMax) view returns (Balance memory balance) {
    if (holder.token == address(0)) return Balance(true, holder.owner.balance);
    address token = holder.token;
    bytes memory question = abi.encodeCall(IERC20.balanceOf, holder.owner);
    bool known;
    uint256 amount;
    // By assembly, for Solidity's call copies all that comes back, however long.
    assembly ("memory-safe") {
        known := staticcall(gasMax, token, add(question, 32), mload(question), 0, 32)
        known := and(known, gt(returndatasize(), 31))
        amount := mul(known, mload(0))
    }
    return Balance(known, amount);
}

/// @dev Ends a constructor with `answer` as the code it would leave: what an eth_call of a creation
/// that never happens answers. By assembly, for Solidity has no other way to choose it.
function answerWith(bytes memory answer) pure {
    assembly ("memory-safe") {
        return(add(answer, 32), mload(answer))
    }
}

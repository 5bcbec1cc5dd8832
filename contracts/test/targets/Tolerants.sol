// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {PlainToken} from "../tokens/PlainToken.sol";

/// @notice The work of the targets below: writing forty new storage slots.
contract Worker {
    uint256[] private shelf;

    function work() external {
        for (uint256 i = 0; i < 40; ++i) {
            shelf.push(i + 1);
        }
    }

    function done() external view returns (uint256) {
        return shelf.length;
    }
}

/// @notice The base of the five targets below. Each target accepts a payment, and continues if its
/// work fails.
abstract contract Tolerating {
    Worker public immutable worker = new Worker();

    function _take(PlainToken token, uint256 amount) internal {
        require(token.transferFrom(msg.sender, address(this), amount), "payment failed");
    }
}

contract TryCatch is Tolerating {
    function pay(PlainToken token, uint256 amount) external {
        _take(token, amount);
        try worker.work() {} catch {}
    }
}

/// @notice Continues even if some of its calls fail.
contract Multicall is Tolerating {
    function tryAggregate(PlainToken token, uint256 amount, address[] calldata targets)
        external
        returns (bool[] memory oks)
    {
        _take(token, amount);
        oks = new bool[](targets.length);
        for (uint256 i = 0; i < targets.length; ++i) {
            (oks[i],) = targets[i].call(abi.encodeCall(Worker.work, ()));
        }
    }
}

/// @notice Delivers a message. If the delivery fails, emits an event instead of reverting.
contract Bridge is Tolerating {
    event Undelivered(address receiver, uint256 amount);

    function deliver(PlainToken token, uint256 amount) external {
        _take(token, amount);
        (bool ok,) = address(worker).call(abi.encodeCall(Worker.work, ()));
        if (!ok) emit Undelivered(address(worker), amount);
    }
}

/// @notice Takes a deposit, and then calls its own hook. The deposit stays valid even if the hook
/// fails.
contract Hooked is Tolerating {
    function deposit(PlainToken token, uint256 amount) external {
        _take(token, amount);
        try this.afterDeposit() {} catch {}
    }

    function afterDeposit() external {
        worker.work();
    }
}

/// @notice Tries two exchanges (venues) in order. The first venue always fails. Keeps the remaining
/// money if no venue accepts it.
contract Aggregator is Tolerating {
    event Unfilled(uint256 amount);

    function swap(PlainToken token, uint256 amount) external {
        _take(token, amount);
        try this.emptyVenue() {
            return;
        } catch {}
        try worker.work() {
            return;
        } catch {
            emit Unfilled(amount);
        }
    }

    function emptyVenue() external pure {
        revert("no liquidity");
    }
}

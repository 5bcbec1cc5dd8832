// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {PlainToken} from "./PlainToken.sol";

/// @notice Like USDT: no return values, and no change of an allowance from non-zero to non-zero.
contract SilentToken {
    mapping(address account => uint256) public balanceOf;
    mapping(address account => mapping(address spender => uint256)) public allowance;

    function mint(address to, uint256 amount) external {
        balanceOf[to] += amount;
    }

    function approve(address spender, uint256 amount) external {
        require(amount == 0 || allowance[msg.sender][spender] == 0, "approve zero first");
        allowance[msg.sender][spender] = amount;
    }

    function transfer(address to, uint256 amount) external {
        _move(msg.sender, to, amount);
    }

    function transferFrom(address from, address to, uint256 amount) external {
        allowance[from][msg.sender] -= amount;
        _move(from, to, amount);
    }

    function _move(address from, address to, uint256 amount) private {
        balanceOf[from] -= amount;
        balanceOf[to] += amount;
    }
}

/// @notice Always returns false instead of reverting.
contract FalseToken is PlainToken {
    function approve(address, uint256) public pure override returns (bool) {
        return false;
    }

    function transfer(address, uint256) public pure override returns (bool) {
        return false;
    }

    function transferFrom(address, address, uint256) public pure override returns (bool) {
        return false;
    }
}

/// @notice Keeps 1 % of each transfer.
contract FeeToken is PlainToken {
    function _move(address from, address to, uint256 amount) internal override {
        super._move(from, to, amount);
        super._move(to, address(this), amount / 100);
    }
}

/// @notice Emits two false events for each transfer. In the first event, the amount is a thousand
/// times too high. The second event reports a transfer that does not happen.
contract BoastingToken is PlainToken {
    address private constant STRANGER = 0x5555555555555555555555555555555555555555;

    function _move(address from, address to, uint256 amount) internal override {
        super._move(from, to, amount);
        emit Transfer(from, to, amount * 1000);
        emit Transfer(to, STRANGER, amount);
    }
}

/// @notice Rejects transfers to and from blocked accounts.
contract BlockingToken is PlainToken {
    mapping(address account => bool) public isBlocked;

    error Blocked(address account);

    function setBlocked(address account, bool blocked) external {
        isBlocked[account] = blocked;
    }

    function _move(address from, address to, uint256 amount) internal override {
        if (isBlocked[from]) revert Blocked(from);
        if (isBlocked[to]) revert Blocked(to);
        super._move(from, to, amount);
    }
}

/// @notice Like BNB on Ethereum: an approval of zero reverts.
contract NoZeroApproveToken is PlainToken {
    function approve(address spender, uint256 amount) public override returns (bool) {
        require(amount != 0, "approve of zero");
        return super.approve(spender, amount);
    }
}

/// @notice During each transfer, calls `hook` before and after the balances change, as ERC-777
/// does.
contract HookToken is PlainToken {
    address public hook;

    function setHook(address hook_) external {
        hook = hook_;
    }

    function _move(address from, address to, uint256 amount) internal override {
        if (hook != address(0)) IHook(hook).onMove(from, to, amount, false);
        super._move(from, to, amount);
        if (hook != address(0)) IHook(hook).onMove(from, to, amount, true);
    }
}

interface IHook {
    function onMove(address from, address to, uint256 amount, bool moved) external;
}

/// @notice Moves half of the requested amount, rounded up.
contract HalfToken is PlainToken {
    function _move(address from, address to, uint256 amount) internal virtual override {
        super._move(from, to, amount - amount / 2);
    }
}

/// @notice Like {HalfToken}, but reading a balance uses about 300,000 gas.
contract SlowToken is HalfToken {
    function balanceOf(address account) public view override returns (uint256) {
        bytes32 word;
        for (uint256 i = 0; i < 880; ++i) {
            word = keccak256(abi.encode(word));
        }
        return word == 0 ? 0 : slots[account];
    }

    /// @notice Returns the balance without burning gas, unlike balanceOf.
    function slotOf(address account) external view returns (uint256) {
        return slots[account];
    }

    function _move(address from, address to, uint256 amount) internal override {
        slots[from] -= amount - amount / 2;
        slots[to] += amount - amount / 2;
    }
}

/// @notice Calls `hook` before it moves the amount. Returns false if the balance is then too low.
contract ForgivingHookToken is HookToken {
    function transfer(address to, uint256 amount) public override returns (bool) {
        if (hook != address(0)) IHook(hook).onMove(msg.sender, to, amount, false);
        if (slots[msg.sender] < amount) return false;
        slots[msg.sender] -= amount;
        slots[to] += amount;
        return true;
    }
}

/// @notice Calls `hook`, then moves the lower of `amount` and the balance, and returns true.
contract ObligingHookToken is HookToken {
    function transfer(address to, uint256 amount) public override returns (bool) {
        if (hook != address(0)) IHook(hook).onMove(msg.sender, to, amount, false);
        uint256 there = slots[msg.sender] < amount ? slots[msg.sender] : amount;
        slots[msg.sender] -= there;
        slots[to] += there;
        return true;
    }
}

/// @notice Burns all gas that it receives when a balance is read or moved.
contract BurningToken is PlainToken {
    bool private immutable WHEN_ASKED;

    constructor(bool whenAsked) {
        WHEN_ASKED = whenAsked;
    }

    function balanceOf(address account) public view override returns (uint256) {
        if (WHEN_ASKED) _burn();
        return slots[account];
    }

    function _move(address, address, uint256) internal pure override {
        _burn();
    }

    function _burn() private pure {
        assembly {
            invalid()
        }
    }
}

/// @notice Returns configured balances, in `size` bytes, and moves nothing.
contract LyingToken {
    uint256 public claimed;
    uint256 public size;
    bool public reverts;

    function lie(uint256 claimed_, uint256 size_, bool reverts_) external {
        (claimed, size, reverts) = (claimed_, size_, reverts_);
    }

    function balanceOf(address) external view {
        _answer(claimed);
    }

    function transfer(address, uint256) external view {
        _answer(1);
    }

    function _answer(uint256 word) private view {
        uint256 bytesOfAnswer = size;
        bool fails = reverts;
        assembly {
            mstore(0x80, word)
            if fails { revert(0x80, bytesOfAnswer) }
            return(0x80, bytesOfAnswer)
        }
    }
}

/// @notice Moves the amount only if the gas price is zero, as in a node's simulation. In a
/// transaction, the token burns all gas, or returns true and moves nothing.
contract TwoFacedToken is PlainToken {
    bool public burns;

    function setBurns(bool burns_) external {
        burns = burns_;
    }

    function _move(address from, address to, uint256 amount) internal override {
        if (tx.gasprice == 0) {
            super._move(from, to, amount);
        } else if (burns) {
            assembly {
                invalid()
            }
        }
    }
}

/// @notice Makes a configured call once, instead of moving an amount.
contract ReenteringToken is PlainToken {
    address public target;
    bytes public data;

    function setCall(address target_, bytes calldata data_) external {
        (target, data) = (target_, data_);
    }

    function _move(address from, address to, uint256 amount) internal override {
        address called = target;
        target = address(0);
        if (called == address(0)) return super._move(from, to, amount);
        (bool ok,) = called.call(data);
        require(ok, "the call failed");
    }
}

// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {PlainToken} from "./PlainToken.sol";

/// @notice As USDT: no return values, and no allowance goes from non-zero to non-zero.
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

/// @notice Answers false where others revert, and here always.
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

/// @notice Logs a thousand times what it moves, and once more what it does not move.
contract BoastingToken is PlainToken {
    address private constant STRANGER = 0x5555555555555555555555555555555555555555;

    function _move(address from, address to, uint256 amount) internal override {
        super._move(from, to, amount);
        emit Transfer(from, to, amount * 1000);
        emit Transfer(to, STRANGER, amount);
    }
}

/// @notice Neither sends to nor from blocked accounts.
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

/// @notice As BNB on Ethereum: an allowance of zero cannot be set.
contract NoZeroApproveToken is PlainToken {
    function approve(address spender, uint256 amount) public override returns (bool) {
        require(amount != 0, "approve of zero");
        return super.approve(spender, amount);
    }
}

/// @notice As ERC-777: tells `hook` before and after each movement, in the middle of the transfer.
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

/// @notice Says whatever it is told to of balances, in `size` bytes, and moves nothing.
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

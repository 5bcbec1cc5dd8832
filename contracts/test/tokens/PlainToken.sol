// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @notice An ERC-20 token that behaves like most tokens. The tokens with unusual behavior inherit
/// from this contract.
contract PlainToken {
    mapping(address account => uint256) internal slots;
    mapping(address account => mapping(address spender => uint256)) public allowance;
    uint256 public totalSupply;

    event Transfer(address indexed from, address indexed to, uint256 value);
    event Approval(address indexed owner, address indexed spender, uint256 value);

    error InsufficientBalance(address account, uint256 wanted, uint256 found);
    error InsufficientAllowance(address spender, uint256 wanted, uint256 found);

    function mint(address to, uint256 amount) public {
        totalSupply += amount;
        slots[to] += amount;
        emit Transfer(address(0), to, amount);
    }

    function balanceOf(address account) public view virtual returns (uint256) {
        return slots[account];
    }

    function approve(address spender, uint256 amount) public virtual returns (bool) {
        allowance[msg.sender][spender] = amount;
        emit Approval(msg.sender, spender, amount);
        return true;
    }

    function transfer(address to, uint256 amount) public virtual returns (bool) {
        _move(msg.sender, to, amount);
        return true;
    }

    function transferFrom(address from, address to, uint256 amount) public virtual returns (bool) {
        uint256 allowed = allowance[from][msg.sender];
        if (allowed < amount) revert InsufficientAllowance(msg.sender, amount, allowed);
        if (allowed != type(uint256).max) allowance[from][msg.sender] = allowed - amount;
        _move(from, to, amount);
        return true;
    }

    function _move(address from, address to, uint256 amount) internal virtual {
        uint256 held = balanceOf(from);
        if (held < amount) revert InsufficientBalance(from, amount, held);
        slots[from] -= amount;
        slots[to] += amount;
        emit Transfer(from, to, amount);
    }
}

// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Intent} from "../../src/IPaymentFactory.sol";
import {World} from "./World.sol";

/// @dev A batch has the same effect as executing its items separately. An invalid or repeated item
/// does not affect the other items.
contract BatchInvariants is World {
    function fund(uint256 seed, uint256 amount) external {
        _fund(seed, amount);
    }

    function wait_(uint256 seed) external {
        _wait(seed);
    }

    /// @dev Each bit of `recovering` selects whether an item recovers or executes.
    function batch(uint256 seed, uint256 count, uint8 recovering) external {
        count = bounded(count, 1, 6);
        bytes[] memory items = new bytes[](count);
        for (uint256 i = 0; i < count; ++i) {
            Intent memory intent = _intent(_pick(seed >> (i * 8)));
            items[i] = _recovers(recovering, i)
                ? recovery(intent, list(address(token)))
                : execution(intent);
        }
        address[] memory vaults = factory.batch(items);
        for (uint256 i = 0; i < count; ++i) {
            Life storage life = _pick(seed >> (i * 8));
            bool done = _recovers(recovering, i) ? _modelRecovery(life) : _modelExecution(life);
            check(vaults[i] == (done ? life.vault : address(0)), "each item as if it were alone");
        }
    }

    function _recovers(uint8 recovering, uint256 i) private pure returns (bool) {
        return (recovering >> i) % 2 == 1;
    }

    /// @dev Returns whether the vault has been executed, by this item or earlier.
    function _modelExecution(Life storage life) private returns (bool) {
        if (_shouldExecute(life)) life.state = State.Executed;
        return life.state == State.Executed;
    }

    function _modelRecovery(Life storage life) private returns (bool) {
        if (_isOpen(life)) return false;
        if (life.state == State.Open) life.state = State.Recovered;
        life.recoveredTotal += _held(life);
        return true;
    }

    function recover(uint256 seed) external {
        _recover(seed);
    }

    function _moves() internal pure override returns (bytes4[] memory moves) {
        moves = new bytes4[](4);
        moves[0] = this.fund.selector;
        moves[1] = this.wait_.selector;
        moves[2] = this.batch.selector;
        moves[3] = this.recover.selector;
    }

    function invariant_batches() external view {
        _checkAll();
    }
}

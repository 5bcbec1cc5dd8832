// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Intent} from "../../src/IPaymentFactory.sol";
import {World} from "./World.sol";

/// @dev A batch is each of its items alone: a bad one, or the same one twice, changes no other.
contract BatchInvariants is World {
    function fund(uint256 seed, uint256 amount) external {
        _fund(seed, amount);
    }

    function wait_(uint256 seed) external {
        _wait(seed);
    }

    function executeBatch(uint256 seed, uint256 count) external {
        count = bounded(count, 1, 6);
        Intent[] memory intents = new Intent[](count);
        for (uint256 i = 0; i < count; ++i) {
            intents[i] = _intent(_pick(seed >> (i * 8)));
        }
        address[] memory vaults = factory.executeBatch(intents);
        for (uint256 i = 0; i < count; ++i) {
            Life storage life = _pick(seed >> (i * 8));
            bool should = _shouldExecute(life);
            check((vaults[i] != address(0)) == should, "each item as if it were alone");
            check(!should || vaults[i] == life.vault, "its own vault");
            if (should) life.state = State.Executed;
        }
    }

    function recover(uint256 seed) external {
        _recover(seed);
    }

    function _moves() internal pure override returns (bytes4[] memory moves) {
        moves = new bytes4[](4);
        moves[0] = this.fund.selector;
        moves[1] = this.wait_.selector;
        moves[2] = this.executeBatch.selector;
        moves[3] = this.recover.selector;
    }

    function invariant_batches() external view {
        _checkAll();
    }
}

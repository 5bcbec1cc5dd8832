// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {vm} from "../Vm.sol";
import {PlainToken} from "../tokens/PlainToken.sol";
import {World} from "./World.sol";

/// @dev Tests that the caller cannot change the recipients of money. The caller chooses the gas
/// price, gas, value, and calldata.
contract CallerInvariants is World {
    Undo private undo = new Undo();

    function fund(uint256 seed, uint256 amount) external {
        _fund(seed, amount);
    }

    function wait_(uint256 seed) external {
        _wait(seed);
    }

    /// @dev With too little gas, an execution can fail. An execution that should fail never
    /// succeeds.
    function execute(uint256 seed, address caller, uint64 price, uint256 gas) external {
        Life storage life = _pick(seed);
        bool should = _shouldExecute(life);
        vm.txGasPrice(price);
        vm.prank(caller);
        (bool ok,) = address(factory).call{gas: bounded(gas, 20_000, 300_000)}(
            abi.encodeCall(factory.execute, (_intent(life)))
        );
        // Resets the gas price. Otherwise, Foundry would refund gas to the sender of the next call.
        vm.txGasPrice(0);
        check(!ok || should, "executes only when it should");
        if (ok) life.state = State.Executed;
    }

    function executeWithCoin(uint256 seed, address caller, uint64 value) external {
        vm.assume(value != 0);
        uint256 before = caller.balance;
        vm.deal(caller, value);
        vm.prank(caller);
        (bool ok,) = address(factory).call{value: value}(
            abi.encodeCall(factory.execute, (_intent(_pick(seed))))
        );
        // The caller can be one of the vaults.
        vm.deal(caller, before);
        check(!ok, "takes no coin");
    }

    /// @dev Replaces one word of the calldata. The model cannot predict how the changed call
    /// affects other vaults. {Undo} therefore makes the changed call, checks the recipients, and
    /// reverts the call. The vault may pay only its merchant and its `recovery` address.
    function spoil(uint256 seed, uint256 index, uint256 word, bool toRecover) external {
        Life storage life = _pick(seed);
        bytes memory data = toRecover
            ? abi.encodeCall(factory.recover, (_intent(life), list(address(token))))
            : abi.encodeCall(factory.execute, (_intent(life)));
        index = 36 + 32 * bounded(index, 0, (data.length - 4) / 32 - 1);
        if (word % 2 == 0) word %= 2048;
        assembly {
            mstore(add(data, index), word)
        }
        address[3] memory places = [life.vault, life.merchant, life.recovery];
        try undo.tryIt(address(factory), data, token, places) {}
        catch (bytes memory reason) {
            check(bytes4(reason) == Undo.Undone.selector, "pays its merchant or its recovery");
        }
    }

    function poke(uint256 seed, address caller, bytes calldata data) external {
        vm.assume(caller != address(factory));
        Life storage life = _pick(seed);
        vm.prank(caller);
        (bool ok, bytes memory answer) = life.vault.call(data);
        check(ok && answer.length == 0, "a vault does nothing for strangers");
    }

    function rescue(uint256 seed, address caller) external {
        Life storage life = _pick(seed);
        vm.assume(caller != life.recovery);
        bytes memory theft = abi.encodeCall(token.transfer, (caller, 1));
        vm.prank(caller);
        try factory.rescue(_intent(life), address(token), 0, theft) {
            check(false, "rescues for recovery alone");
        } catch {}
    }

    function rescueWhileOpen(uint256 seed) external {
        Life storage life = _pick(seed);
        if (!_isOpen(life)) return;
        vm.prank(life.recovery);
        try factory.rescue(_intent(life), address(token), 0, "") {
            check(false, "rescues nothing while open");
        } catch {}
    }

    function _moves() internal pure override returns (bytes4[] memory moves) {
        moves = new bytes4[](8);
        moves[0] = this.fund.selector;
        moves[1] = this.wait_.selector;
        moves[2] = this.execute.selector;
        moves[3] = this.executeWithCoin.selector;
        moves[4] = this.spoil.selector;
        moves[5] = this.poke.selector;
        moves[6] = this.rescue.selector;
        moves[7] = this.rescueWhileOpen.selector;
    }

    function invariant_callers() external view {
        _checkAll();
    }
}

contract Undo {
    error Undone();

    function tryIt(
        address factory,
        bytes calldata data,
        PlainToken token,
        address[3] calldata places
    ) external {
        uint256 before = sum(token, places);
        (bool ok,) = factory.call(data);
        ok;
        require(sum(token, places) == before, "money went elsewhere");
        revert Undone();
    }

    function sum(PlainToken token, address[3] calldata places)
        private
        view
        returns (uint256 total)
    {
        for (uint256 i = 0; i < 3; ++i) {
            total += token.balanceOf(places[i]);
        }
    }
}

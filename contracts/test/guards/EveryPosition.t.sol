// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Call, Intent, IPaymentFactory} from "../../src/IPaymentFactory.sol";
import {Errors} from "../Errors.sol";
import {Fixture} from "../Fixture.sol";
import {vm} from "../Vm.sol";

/// @notice Returns one word for every call.
contract Answering {
    uint256 private immutable WORD;

    constructor(uint256 word) {
        WORD = word;
    }

    fallback() external {
        uint256 word = WORD;
        assembly {
            mstore(0, word)
            return(0, 32)
        }
    }
}

/// @dev Tests that each rule for a call, token, or item applies at every position. Floor.t.sol
/// tests the gas floor of each call.
contract EveryPositionTest is Fixture {
    uint256 private constant CALLS = 32;
    address private constant NOTHING = address(0x70CE17);

    function test_NoCode() public {
        string[2] memory signatures = ["visit()", "transfer(address,uint256)"];
        for (uint256 i = 0; i < CALLS; ++i) {
            Call memory call = plainCall(NOTHING, signatures[i % 2], "");
            _refused(i, call, abi.encodeCall(Errors.NoCode, (i, NOTHING)));
        }
    }

    function test_CallFailed() public {
        // Tests calls that revert without data, revert with a reason, or return a value other than
        // true.
        address[3] memory wrong = [
            address(new Answering(0)),
            address(new Answering(2 ** 64 + 1)),
            address(new Answering(2 ** 128 + 1))
        ];
        for (uint256 i = 0; i < CALLS; ++i) {
            Call memory missing = plainCall(address(shop), "missing()", "");
            _refused(i, missing, abi.encodeCall(Errors.CallFailed, (i, address(shop), "")));
            address target = wrong[i % 3];
            (, bytes memory answer) = target.call("");
            _refused(
                i,
                plainCall(target, "transfer(address,uint256)", ""),
                abi.encodeCall(Errors.CallFailed, (i, target, answer))
            );
        }
    }

    function test_RecoveryFailed_andRecovered() public {
        Intent memory intent = plainIntent();
        address vault = funded(intent, AMOUNT);
        vm.warp(EXPIRY + 1);
        address[] memory tokens = new address[](12);
        for (uint256 i = 0; i < tokens.length; ++i) {
            tokens[i] = address(uint160(NOTHING) + uint160(i));
            vm.expectEmit(true, true, true, true, address(factory));
            emit IPaymentFactory.RecoveryFailed(
                vault, tokens[i], abi.encodeCall(Errors.BalanceUnknown, (tokens[i], vault))
            );
        }
        factory.recover(intent, tokens);
        for (uint256 i = 0; i < tokens.length; ++i) {
            token.mint(vault, i == 0 ? 0 : AMOUNT);
            (tokens[i], tokens[(i + 11) % 12]) = (address(token), NOTHING);
            vm.expectEmit(true, true, true, true, address(factory));
            emit IPaymentFactory.Recovered(vault, address(token), AMOUNT);
            factory.recover(intent, tokens);
        }
    }

    function test_Recovered_forAnyBalance() public {
        uint256[4] memory balances = [uint256(1), 2 ** 64, 2 ** 128, type(uint128).max];
        Intent memory intent = plainIntent();
        address vault = factory.addressOf(intent);
        vm.warp(EXPIRY + 1);
        for (uint256 i = 0; i < balances.length; ++i) {
            token.mint(vault, balances[i]);
            vm.expectEmit(true, true, true, true, address(factory));
            emit IPaymentFactory.Recovered(vault, address(token), balances[i]);
            factory.recover(intent, list(address(token)));
        }
    }

    function test_ItemFailed() public {
        bytes[] memory items = new bytes[](12);
        bytes memory reason = abi.encodeCall(Errors.NotAnItem, (bytes4(0)));
        for (uint256 i = 0; i < items.length; ++i) {
            vm.expectEmit(true, true, true, true, address(factory));
            emit IPaymentFactory.ItemFailed(address(this), i, reason);
        }
        factory.batch(items);
    }

    function test_aBatch_returnsTheVaultOfEachItem() public {
        bytes[] memory items = new bytes[](12);
        address[] memory wanted = new address[](items.length);
        for (uint256 i = 0; i < items.length; ++i) {
            Intent memory intent = plainIntent();
            wanted[i] = funded(intent, AMOUNT);
            items[i] = execution(intent);
        }
        address[] memory vaults = factory.batch(items);
        for (uint256 i = 0; i < items.length; ++i) {
            check(vaults[i] == wanted[i], vm.toString(i));
        }
    }

    /// @dev Puts `call` at one position of 32 calls that are otherwise valid.
    function _refused(uint256 position, Call memory call, bytes memory reason) private {
        Call[] memory calls = new Call[](CALLS);
        for (uint256 i = 0; i < CALLS; ++i) {
            calls[i] = i == position ? call : plainCall(address(shop), "visit()", "");
        }
        Intent memory intent = intentOf(calls);
        funded(intent, AMOUNT);
        vm.expectRevert(reason);
        factory.execute(intent);
    }
}

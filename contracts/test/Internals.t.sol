// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Call, Intent, IPaymentFactory} from "../src/IPaymentFactory.sol";
import {Errors} from "./Errors.sol";
import {Fixture} from "./Fixture.sol";
import {vm} from "./Vm.sol";

interface Internals {
    function onCreation(Intent calldata intent) external;
    function act(address target, uint256 value, bytes calldata data) external;
    function sweepToken(address vault, address token, address recovery) external;
}

/// @dev Tests that the internal functions of the factory and of vaults reject unexpected callers.
contract InternalsTest is Fixture {
    function test_NotVault_ifTheFactoryIsCalledDirectly(address caller) public {
        Internals internals = Internals(address(factory));
        Intent memory intent = plainIntent();
        vm.prank(caller);
        vm.expectRevert(abi.encodeCall(Errors.NotVault, ()));
        internals.onCreation(intent);
        vm.prank(caller);
        vm.expectRevert(abi.encodeCall(Errors.NotVault, ()));
        internals.act(address(token), 0, "");
    }

    function test_NotVault_ifTheFactoryCallsItself() public {
        Intent memory intent = plainIntent();
        vm.prank(address(factory));
        vm.expectRevert(abi.encodeCall(Errors.NotVault, ()));
        Internals(address(factory)).onCreation(intent);
        vm.prank(address(factory));
        vm.expectRevert(abi.encodeCall(Errors.NotVault, ()));
        Internals(address(factory)).act(address(token), 0, "");
    }

    function test_NotFactory_ifAnyoneElseSweeps(address caller) public {
        vm.assume(caller != address(factory));
        Intent memory intent = plainIntent();
        address vault = funded(intent, 2 * AMOUNT);
        factory.execute(intent);
        vm.prank(caller);
        vm.expectRevert(abi.encodeCall(Errors.NotFactory, ()));
        Internals(address(factory)).sweepToken(vault, address(token), caller);
        vm.prank(vault);
        vm.expectRevert(abi.encodeCall(Errors.NotFactory, ()));
        Internals(address(factory)).sweepToken(vault, address(token), caller);
        holds(vault, AMOUNT, AMOUNT);
    }

    function test_NotVault_ifADifferentCreatorBorrowsTheCode() public {
        Intent memory intent = plainIntent();
        bytes memory initCode = bytes.concat(prefix, abi.encode(intent));
        Impostor impostor = new Impostor(address(factory));
        (address created, bytes memory reason) = impostor.create(initCode);
        check(created == address(0) && reason.length == 4, "cannot construct");
        check(bytes4(reason) == Errors.NotVault.selector, "NotVault");
    }

    function test_NotVault_ifAnExecutedVaultIsAskedToConstruct() public {
        Intent memory intent = plainIntent();
        address vault = funded(intent, 2 * AMOUNT);
        factory.execute(intent);
        vm.prank(address(factory));
        bytes memory question = bytes.concat(Internals.onCreation.selector, abi.encode(intent));
        (bool ok, bytes memory answer) = vault.call(question);
        check(ok, "answers with what came back");
        sameBytes(answer, abi.encodeCall(Errors.NotVault, ()), "and refuses");
        holds(vault, AMOUNT, AMOUNT);
    }

    function test_callsOfStrangers_returnNoData_andHaveNoEffect(
        address caller,
        bytes calldata data
    ) public {
        vm.assume(caller != address(factory));
        Intent memory intent = plainIntent();
        address vault = funded(intent, 2 * AMOUNT);
        factory.execute(intent);
        bytes[3] memory questions = [
            data,
            bytes.concat(Internals.onCreation.selector, abi.encode(intent)),
            abi.encodeCall(
                Internals.act,
                (address(token), 0, abi.encodeCall(token.transfer, (caller, AMOUNT)))
            )
        ];
        for (uint256 i = 0; i < 3; ++i) {
            vm.prank(caller);
            (bool ok, bytes memory answer) = vault.call(questions[i]);
            check(ok && answer.length == 0, "nothing");
        }
        holds(vault, AMOUNT, AMOUNT);
    }

    function test_theFactory_rejectsNativeCoinAndUnknownFunctions(bytes4 selector, uint64 value)
        public
    {
        (bool ok,) = address(factory).call{value: value}("");
        check(!ok, "no coin");
        bytes4[6] memory known = [
            factory.execute.selector,
            factory.batch.selector,
            factory.recover.selector,
            factory.rescue.selector,
            bytes4(keccak256("addressOf(bytes)")),
            bytes4(keccak256(bytes(string.concat("addressOf(", INTENT, ")"))))
        ];
        for (uint256 i = 0; i < 6; ++i) {
            vm.assume(selector != known[i]);
        }
        (ok,) = address(factory).call(bytes.concat(selector, abi.encode(plainIntent())));
        check(!ok, "no other function");
    }

    string private constant INTENT =
        "(address,uint256,(address,string,string,bytes)[],uint64,address,bytes32,uint256)";
}

/// @dev Pretends to be the factory. A vault's init code calls the creator of the vault with
/// DELEGATECALL. As the creator, this contract forwards the call to the factory's code.
contract Impostor {
    address private immutable FACTORY;

    constructor(address factory) {
        FACTORY = factory;
    }

    function create(bytes memory initCode)
        external
        returns (address created, bytes memory reason)
    {
        assembly {
            created := create2(0, add(initCode, 32), mload(initCode), 0)
            reason := mload(0x40)
            mstore(reason, returndatasize())
            returndatacopy(add(reason, 32), 0, returndatasize())
            mstore(0x40, add(add(reason, 64), returndatasize()))
        }
    }

    fallback() external {
        (bool ok, bytes memory answer) = FACTORY.delegatecall(msg.data);
        assembly {
            if iszero(ok) { revert(add(answer, 32), mload(answer)) }
            return(add(answer, 32), mload(answer))
        }
    }
}

// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Intent, IPaymentFactory} from "../src/IPaymentFactory.sol";
import {Errors} from "./Errors.sol";
import {Fixture} from "./Fixture.sol";
import {vm} from "./Vm.sol";

/// @dev Tests that nobody can move money from the address of incomplete terms. Incomplete terms
/// have fewer than the seven 32-byte words of an intent. If the factory accepted such terms, the
/// caller could append the missing words. The caller could then choose the recovery address.
contract CanonicalTest is Fixture {
    address private constant THIEF = address(0x7417EF);
    uint256 private constant INTENT_BYTES_MIN = 224;

    /// @dev The positions of the intent in the calldata of `recover` (two arguments) and of
    /// `rescue` (four arguments).
    uint256 private constant RECOVER_START = 4 + 2 * 32;
    uint256 private constant RESCUE_START = 4 + 4 * 32;

    function test_NotCanonical_ifTheTermsAreEmpty_forRecover() public {
        address vault = fundedCut("");
        // The offsets of the intent and of the tokens point to the same words. Decoded as `tokens`,
        // the words are a list of one token. Decoded as `intent`, the words contain the attacker's
        // address as `recovery`.
        bytes memory words = abi.encode(1, address(token), 0, 0, THIEF, 0, 0);
        bytes memory data = bytes.concat(factory.recover.selector, abi.encode(64, 64), words);
        refused(data, RECOVER_START, RECOVER_START);
        equal(token.balanceOf(vault), AMOUNT, "stays");
    }

    function test_NotCanonical_ifTheTermsAreEmpty_forRescue() public {
        address vault = fundedCut("");
        bytes memory theft = abi.encodeCall(token.transfer, (THIEF, AMOUNT));
        // The offsets of the intent and of the data point to the same words. Decoded as `data`, the
        // words are a transfer. Decoded as `intent`, the words contain the attacker's address as
        // `recovery`.
        bytes memory words = abi.encodePacked(
            uint256(68), theft, bytes28(0), uint256(uint160(THIEF)), bytes32(0), bytes32(0)
        );
        bytes memory head = abi.encode(128, address(token), 0, 128);
        vm.prank(THIEF);
        (bool ok,) = address(factory).call(bytes.concat(factory.rescue.selector, head, words));
        check(!ok, "refused");
        equal(token.balanceOf(vault), AMOUNT, "stays");
    }

    function test_NotCanonical_ifTheTermsAreShorterThanSevenWords(bytes32 seed) public {
        for (uint256 cut = 0; cut < INTENT_BYTES_MIN; cut += cut < 200 ? 13 : 1) {
            bytes memory part = new bytes(cut);
            for (uint256 i = 0; i < cut; ++i) {
                part[i] = seed[i % 32];
            }
            address vault = fundedCut(part);
            // The attacker appends words to the terms. The appended words first encode an empty
            // list of tokens. Then, they contain the attacker's address wherever the factory could
            // read `recovery`.
            bytes memory words = abi.encode(0, 0, 0, 0, THIEF, THIEF, THIEF, THIEF, THIEF);
            refused(
                bytes.concat(factory.recover.selector, abi.encode(64, 64 + cut), part, words),
                RECOVER_START,
                RECOVER_START + cut
            );
            equal(token.balanceOf(vault), AMOUNT, "stays");
            equal(vault.code.length, 0, "nothing was made there");
        }
    }

    function test_NotCanonical_ifOneByteIsMissing_forRescue() public {
        bytes memory part = abi.encode(token, AMOUNT, 224, EXPIRY, THIEF, 0, 1);
        assembly {
            mstore(part, 223)
        }
        address vault = fundedCut(part);
        bytes memory head = abi.encode(128, address(token), 0, 128 + part.length);
        bytes memory data = bytes.concat(factory.rescue.selector, head, part, new bytes(64));
        vm.warp(EXPIRY + 1);
        vm.prank(THIEF);
        refused(data, RESCUE_START, RESCUE_START + 223);
        equal(token.balanceOf(vault), AMOUNT, "stays");
    }

    function test_sevenWords_areRecoveredToTheAddressThatTheyName() public {
        bytes memory part = abi.encode(token, AMOUNT, 224, EXPIRY, RECOVERY, 0, 1);
        equal(part.length, INTENT_BYTES_MIN, "bytes");
        fundedCut(part);
        vm.warp(EXPIRY + 1);
        (bool ok,) = address(factory)
            .call(
                bytes.concat(
                    factory.recover.selector,
                    abi.encode(64, 64 + part.length),
                    part,
                    abi.encode(1, address(token))
                )
            );
        check(ok, "recovers");
        equal(token.balanceOf(RECOVERY), AMOUNT, "recovered");
    }

    /// @dev An expiry of more than 64 bits is invalid. If it were valid, the intent could neither
    /// be executed nor recovered.
    function test_anExpiryAbove64Bits_isRejected() public {
        Intent memory intent = plainIntent();
        bytes memory terms = abi.encode(intent);
        assembly {
            // Adds 2^64 to the expiration time, which is the fifth word of the terms.
            mstore(add(terms, 160), add(shl(64, 1), mload(add(terms, 160))))
        }
        address vault = factory.addressOf(terms);
        token.mint(vault, AMOUNT);
        (bool ok, bytes memory reason) =
            address(factory).call(bytes.concat(factory.execute.selector, terms));
        check(!ok && reason.length == 0, "refused");
        equal(token.balanceOf(vault), AMOUNT, "stays");
    }

    function refused(bytes memory data, uint256 start, uint256 end) private {
        (bool ok, bytes memory reason) = address(factory).call(data);
        bytes memory wanted = abi.encodeCall(Errors.NotCanonical, (start, end));
        check(!ok && keccak256(reason) == keccak256(wanted), "NotCanonical");
    }

    /// @dev Mints tokens to the address of the incomplete terms `part`. Returns the address.
    function fundedCut(bytes memory part) private returns (address vault) {
        vault = factory.addressOf(bytes.concat(bytes32(uint256(32)), part));
        token.mint(vault, AMOUNT);
    }
}

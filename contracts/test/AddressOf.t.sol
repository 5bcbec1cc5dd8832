// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Call, Intent, IPaymentFactory} from "../src/IPaymentFactory.sol";
import {Errors} from "./Errors.sol";
import {Fixture} from "./Fixture.sol";
import {vm} from "./Vm.sol";

contract AddressOfTest is Fixture {
    uint256 private constant TERMS_BYTES_MAX = 24_576;
    string private constant ADDRESS_OF =
        "addressOf((address,uint256,(address,string,string,bytes)[],uint64,address,bytes32,uint256))";

    function test_TermsTooLong_byOneByte_andByOneWord() public {
        vm.expectRevert(
            abi.encodeCall(Errors.TermsTooLong, (TERMS_BYTES_MAX, TERMS_BYTES_MAX + 1))
        );
        factory.addressOf(new bytes(TERMS_BYTES_MAX + 1));
        Intent memory intent = intentOfBytes(TERMS_BYTES_MAX + 32);
        vm.expectRevert(
            abi.encodeCall(Errors.TermsTooLong, (TERMS_BYTES_MAX, TERMS_BYTES_MAX + 32))
        );
        factory.addressOf(intent);
    }

    /// @dev If the factory accepted this calldata, {addressOf} would return the wrong address. This
    /// address can be executed, but its money can never be recovered.
    function test_NotCanonical_ifTheIntentIsMovedInTheCalldata(bytes32 gap) public {
        Intent memory intent = plainIntent();
        bytes memory data = abi.encodeWithSignature(ADDRESS_OF, intent);
        (bool ok, bytes memory answer) = address(factory).call(data);
        address vault = factory.addressOf(abi.encode(intent));
        check(ok && abi.decode(answer, (address)) == vault, "the same as of its terms");

        bytes memory body = withoutOffset(abi.encode(intent));
        data = bytes.concat(bytes4(data), bytes32(uint256(64)), gap, body);
        (ok, answer) = address(factory).call(data);
        bytes memory wanted = abi.encodeCall(Errors.NotCanonical, (4 + 64, data.length));
        check(!ok && keccak256(answer) == keccak256(wanted), "NotCanonical");
    }

    /// @dev {addressOf} must check the offset explicitly. With an offset below 32, {addressOf}
    /// reads the wrong words as the intent's fields. The type checks do not detect all wrong words.
    function test_NotCanonical_ifTheOffsetIsBelow32() public {
        Intent memory intent = plainIntent();
        for (uint256 offset = 0; offset < 32; ++offset) {
            bytes memory data = abi.encodeWithSignature(ADDRESS_OF, intent);
            assembly {
                mstore(add(data, 36), offset)
            }
            (bool ok, bytes memory answer) = address(factory).staticcall(data);
            bytes memory wanted = abi.encodeCall(Errors.NotCanonical, (4 + offset, data.length));
            check(!ok && keccak256(answer) == keccak256(wanted), vm.toString(offset));
        }
    }

    /// @dev If the factory accepted such an intent, money at the address could never be recovered.
    function test_aRecoveryOrExpiryThatExceedsItsType_hasNoAddress(uint256 bit) public {
        bytes memory data = abi.encodeWithSignature(ADDRESS_OF, plainIntent());
        (bool ok,) = address(factory).staticcall(data);
        check(ok, "as it is");
        uint256 expiryAt = 32 + 36 + 3 * 32;
        _flip(data, expiryAt, bounded(bit, 64, 255));
        (ok,) = address(factory).staticcall(data);
        check(!ok, "an expiry of more than 64 bits");
        _flip(data, expiryAt, bounded(bit, 64, 255));
        _flip(data, expiryAt + 32, bounded(bit, 160, 255));
        (ok,) = address(factory).staticcall(data);
        check(!ok, "a recovery of more than 160 bits");
    }

    function _flip(bytes memory data, uint256 at, uint256 bit) private pure {
        assembly {
            mstore(add(data, at), xor(mload(add(data, at)), shl(bit, 1)))
        }
    }

    function test_theLongestTerms_haveAnAddress() public {
        Intent memory intent = intentOfBytes(TERMS_BYTES_MAX);
        check(factory.addressOf(intent) == factory.addressOf(abi.encode(intent)), "the same");
    }

    function test_theAddress_isTheCreate2AddressOfPrefixAndTerms(Intent memory intent) public {
        bytes memory terms = abi.encode(intent);
        vm.assume(terms.length <= TERMS_BYTES_MAX);
        bytes32 initCodeHash = keccak256(bytes.concat(prefix, terms));
        bytes32 hash =
            keccak256(abi.encodePacked(bytes1(0xff), address(factory), bytes32(0), initCodeHash));
        address wanted = address(uint160(uint256(hash)));
        check(factory.addressOf(intent) == wanted, "of the intent");
        check(factory.addressOf(terms) == wanted, "of the terms");
    }

    function test_anyChangedBit_changesTheAddress(Intent memory intent, uint256 bit) public {
        bytes memory terms = abi.encode(intent);
        vm.assume(terms.length <= TERMS_BYTES_MAX);
        address before = factory.addressOf(terms);
        bit = bounded(bit, 0, terms.length * 8 - 1);
        terms[bit / 8] ^= bytes1(uint8(1 << (bit % 8)));
        check(factory.addressOf(terms) != before, "another address");
    }

    function test_anyChangedField_changesTheAddress() public {
        Intent memory intent = plainIntent();
        address[10] memory found;
        found[0] = factory.addressOf(intent);
        intent.amount++;
        found[1] = factory.addressOf(intent);
        intent.token = address(shop);
        found[2] = factory.addressOf(intent);
        intent.calls[0].signature = "transfer(address, uint256)";
        found[3] = factory.addressOf(intent);
        intent.calls[0].names = "to,amounts";
        found[4] = factory.addressOf(intent);
        intent.calls[0].args = "";
        found[5] = factory.addressOf(intent);
        intent.expirationTimestamp++;
        found[6] = factory.addressOf(intent);
        intent.recovery = STRANGER;
        found[7] = factory.addressOf(intent);
        intent.salt = ~intent.salt;
        found[8] = factory.addressOf(intent);
        intent.chainId = 2;
        found[9] = factory.addressOf(intent);
        for (uint256 i = 0; i < 10; ++i) {
            for (uint256 j = 0; j < i; ++j) {
                check(found[i] != found[j], "another address");
            }
        }
    }

    /// @dev Bytes after the calldata, which some wallets add for attribution, change the address.
    function test_bytesAfterTheCalldata_resultInADifferentAddress(bytes calldata suffix) public {
        vm.assume(suffix.length != 0);
        Intent memory intent = plainIntent();
        address vault = funded(intent, AMOUNT);
        bytes memory data = bytes.concat(abi.encodeCall(factory.execute, (intent)), suffix);
        (bool ok, bytes memory reason) = address(factory).call(data);
        check(!ok && bytes4(reason) == IPaymentFactory.Underfunded.selector, "unfunded");
        holds(vault, AMOUNT, 0);
    }

    /// @dev The calldata encodes the same intent, but contains an unused word before it.
    function test_theIntentMovedInTheCalldata_resultsInADifferentAddress(bytes32 gap) public {
        Intent memory intent = plainIntent();
        address vault = funded(intent, AMOUNT);
        bytes memory moved = bytes.concat(
            factory.execute.selector, bytes32(uint256(64)), gap, withoutOffset(abi.encode(intent))
        );
        (bool ok, bytes memory reason) = address(factory).call(moved);
        check(!ok && bytes4(reason) == IPaymentFactory.Underfunded.selector, "unfunded");
        holds(vault, AMOUNT, 0);
    }

    /// @dev The terms encode the same intent, but contain an unused word before its calls.
    function test_aDifferentLayout_resultsInADifferentAddress() public {
        Intent memory intent = plainIntent();
        address vault = funded(intent, AMOUNT);
        bytes memory body = withoutOffset(abi.encode(intent));
        bytes memory head = new bytes(7 * 32);
        bytes memory tail = new bytes(body.length - head.length);
        for (uint256 i = 0; i < body.length; ++i) {
            if (i < head.length) head[i] = body[i];
            else tail[i - head.length] = body[i];
        }
        assembly {
            mstore(add(head, 96), 256)
        }
        bytes memory terms = bytes.concat(bytes32(uint256(32)), head, bytes32(0), tail);
        check(
            keccak256(abi.encode(abi.decode(terms, (Intent)))) == keccak256(abi.encode(intent)),
            "decodes to the same values"
        );
        (bool ok, bytes memory reason) =
            address(factory).call(bytes.concat(factory.execute.selector, terms));
        check(!ok && bytes4(reason) == IPaymentFactory.Underfunded.selector, "unfunded");
        check(factory.addressOf(terms) != vault, "another address");
        holds(vault, AMOUNT, 0);
    }

    function test_arbitraryBytes_neverMoveFundedMoney(bytes calldata data, uint8 which) public {
        Intent memory intent = plainIntent();
        address vault = funded(intent, AMOUNT);
        bytes4[4] memory selectors = [
            factory.execute.selector,
            factory.batch.selector,
            factory.recover.selector,
            factory.rescue.selector
        ];
        (bool ok,) = address(factory).call(bytes.concat(selectors[which % 4], data));
        ok;
        holds(vault, AMOUNT, 0);
        equal(vault.code.length, 0, "code");
    }

    /// @dev A changed word of valid calldata cannot redirect money. The merchant gets the whole
    /// amount, or all money stays in the vault.
    function test_anyChangedWord_paysTheMerchantOrNoOne(uint256 index, uint256 word, bool small)
        public
    {
        Intent memory intent = plainIntent();
        address vault = funded(intent, AMOUNT);
        bytes memory data = abi.encodeCall(factory.execute, (intent));
        index = 36 + 32 * bounded(index, 0, (data.length - 4) / 32 - 1);
        if (small) word %= 1024;
        assembly {
            mstore(add(data, index), word)
        }
        (bool ok,) = address(factory).call(data);
        ok;
        uint256 left = token.balanceOf(vault);
        holds(vault, left, AMOUNT - left);
        check(left == 0 || left == AMOUNT, "all or nothing");
    }
}

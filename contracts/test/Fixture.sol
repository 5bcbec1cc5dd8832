// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Call, Intent, IPaymentFactory} from "../src/IPaymentFactory.sol";
import {Deployed} from "./Deployed.sol";
import {PlainToken} from "./tokens/PlainToken.sol";
import {Shop} from "./targets/Shop.sol";
import {vm} from "./Vm.sol";

/// @dev Deploys the committed code of the factory with the deterministic deployer. So the tests run
/// the same bytes as on a real chain. Also provides a token, a shop, and an intent to pay.
abstract contract Fixture is Deployed {
    IPaymentFactory internal factory;
    PlainToken internal token;
    Shop internal shop;
    bytes32 internal prefix;

    address internal constant RECOVERY = address(0xC0FFEE);
    address internal constant MERCHANT = address(0xBEEF00);
    address internal constant STRANGER = address(0x5742A6);
    address internal constant NATIVE = address(0);
    uint256 internal constant AMOUNT = 1_000_000;
    uint256 internal constant NOW = 1_800_000_000;
    uint64 internal constant EXPIRY = uint64(NOW + 1 days);

    uint256 private salts;

    error Mismatch(string what, uint256 wanted, uint256 found);

    function setUp() public virtual {
        vm.warp(NOW);
        vm.chainId(1);
        factory = deployFactory();
        token = new PlainToken();
        shop = new Shop();
    }

    function deployFactory() internal returns (IPaymentFactory) {
        string memory json = vm.readFile("snapshots/deployment.json");
        address found = vm.parseJsonAddress(json, ".factory");
        bytes32 salt = bytes32(vm.parseJsonBytes(json, ".salt"));
        deploy(found, salt, vm.parseJsonBytes(json, ".creationCode"));
        prefix = bytes32(vm.parseJsonBytes(json, ".prefix"));
        return IPaymentFactory(found);
    }

    /// @dev Returns an intent with these calls and a unique salt.
    function intentOf(Call[] memory calls) internal returns (Intent memory intent) {
        intent = Intent({
            token: address(token),
            amount: AMOUNT,
            calls: calls,
            expirationTimestamp: EXPIRY,
            recovery: RECOVERY,
            salt: bytes32(++salts),
            chainId: 1
        });
    }

    function intentOf(Call memory one) internal returns (Intent memory) {
        return intentOf(list(one));
    }

    /// @dev Returns an intent that has one call and `termsBytes` bytes of terms.
    function intentOfBytes(uint256 termsBytes) internal returns (Intent memory intent) {
        intent = intentOf(plainCall(address(shop), "visit()", ""));
        intent.calls[0].args = new bytes(termsBytes - abi.encode(intent).length);
        equal(abi.encode(intent).length, termsBytes, "bytes of terms");
    }

    /// @dev Returns an intent that pays the whole AMOUNT to the merchant.
    function plainIntent() internal returns (Intent memory) {
        return intentOf(transferCall(MERCHANT, AMOUNT));
    }

    function funded(Intent memory intent, uint256 amount) internal returns (address vault) {
        vault = factory.addressOf(intent);
        PlainToken(intent.token).mint(vault, amount);
    }

    function transferCall(address to, uint256 amount) internal view returns (Call memory) {
        return transferCall(address(token), to, amount);
    }

    function transferCall(address target, address to, uint256 amount)
        internal
        pure
        returns (Call memory)
    {
        return Call(target, "transfer(address,uint256)", "to,amount", abi.encode(to, amount));
    }

    function approveCall(address target, address spender, uint256 amount)
        internal
        pure
        returns (Call memory)
    {
        bytes memory args = abi.encode(spender, amount);
        return Call(target, "approve(address,uint256)", "spender,amount", args);
    }

    function payCall(address paid, uint256 amount) internal view returns (Call memory) {
        bytes memory args = abi.encode(paid, amount);
        return Call(address(shop), "pay(address,uint256)", "token,amount", args);
    }

    function plainCall(address target, string memory signature, bytes memory args)
        internal
        pure
        returns (Call memory)
    {
        return Call(target, signature, "", args);
    }

    function list(Call memory one) internal pure returns (Call[] memory calls) {
        calls = new Call[](1);
        calls[0] = one;
    }

    function list(Call memory one, Call memory two) internal pure returns (Call[] memory calls) {
        calls = new Call[](2);
        (calls[0], calls[1]) = (one, two);
    }

    function list(address one) internal pure returns (address[] memory tokens) {
        tokens = new address[](1);
        tokens[0] = one;
    }

    function list(address one, address two) internal pure returns (address[] memory tokens) {
        tokens = new address[](2);
        (tokens[0], tokens[1]) = (one, two);
    }

    function list(bytes memory one) internal pure returns (bytes[] memory items) {
        items = new bytes[](1);
        items[0] = one;
    }

    function list(bytes memory one, bytes memory two, bytes memory three)
        internal
        pure
        returns (bytes[] memory items)
    {
        items = new bytes[](3);
        (items[0], items[1], items[2]) = (one, two, three);
    }

    /// @dev Items of a batch.
    function execution(Intent memory intent) internal view returns (bytes memory) {
        return abi.encodeCall(factory.execute, (intent));
    }

    function recovery(Intent memory intent, address[] memory tokens)
        internal
        view
        returns (bytes memory)
    {
        return abi.encodeCall(factory.recover, (intent, tokens));
    }

    function sameBytes(bytes memory found, bytes memory wanted, string memory what) internal pure {
        check(keccak256(found) == keccak256(wanted), what);
    }

    function check(bool ok, string memory what) internal pure {
        require(ok, what);
    }

    function equal(uint256 found, uint256 wanted, string memory what) internal pure {
        if (found != wanted) revert Mismatch(what, wanted, found);
    }

    /// @dev The code that an execution leaves at a vault. A vault that was closed without an
    /// execution has an additional zero byte.
    function executedCode() internal view returns (bytes memory) {
        return abi.encodePacked(
            hex"336f",
            uint128(uint160(address(factory))),
            hex"18602857365f5f375f5f365f335af43d5f5f3e3d5ff35b"
        );
    }

    /// @dev Checks that the vault has `left` of the intent's token, and the merchant has `paid`.
    function holds(address vault, uint256 left, uint256 paid) internal view {
        equal(token.balanceOf(vault), left, "left in the vault");
        equal(token.balanceOf(MERCHANT), paid, "paid to the merchant");
    }

    function bounded(uint256 value, uint256 min, uint256 max) internal pure returns (uint256) {
        return min + value % (max - min + 1);
    }

    function withoutOffset(bytes memory terms) internal pure returns (bytes memory body) {
        body = new bytes(terms.length - 32);
        for (uint256 i = 0; i < body.length; ++i) {
            body[i] = terms[i + 32];
        }
    }
}

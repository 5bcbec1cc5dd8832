// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Call, Intent, IPaymentFactory} from "../../src/IPaymentFactory.sol";
import {Fixture} from "../Fixture.sol";
import {vm} from "../Vm.sol";
import {PlainToken} from "../tokens/PlainToken.sol";

/// @dev Some intents, and a model of their expected states. Each test contract lets the fuzzer
/// choose from some of the actions below. After each action, the model is compared with the chain.
///
/// Each intent has its own merchant and recovery address, so every unit's origin is known.
abstract contract World is Fixture {
    enum State {
        Open,
        Executed,
        Recovered
    }

    struct Life {
        bytes terms;
        address recovery;
        uint256 expiry;
        uint256 chainId;
        address vault;
        address merchant;
        bool canSucceed;
        State state;
        uint256 fundedTotal;
        uint256 recoveredTotal;
        uint256 coinTotal;
        uint256 otherTotal;
    }

    uint256 internal constant LIVES = 12;

    /// @dev The length in bytes of a vault's code in each {State}.
    uint256[3] private codeBytes = [0, 41, 42];

    Life[] internal lives;
    PlainToken internal other;
    uint256 internal now_ = NOW;
    uint256 internal chain = 1;

    function setUp() public virtual override {
        super.setUp();
        other = new PlainToken();
        for (uint256 i = 0; i < LIVES; ++i) {
            _beget(i);
        }
    }

    /// @dev The functions of one contract that the fuzzer may call, in Foundry's format.
    struct FuzzSelector {
        address addr;
        bytes4[] selectors;
    }

    function targetSelectors() public view returns (FuzzSelector[] memory targets) {
        targets = new FuzzSelector[](1);
        targets[0] = FuzzSelector(address(this), _moves());
    }

    function targetContracts() public view returns (address[] memory) {
        return list(address(this));
    }

    /// @dev Returns the functions that the fuzzer may call.
    function _moves() internal pure virtual returns (bytes4[] memory);

    function _beget(uint256 i) private {
        address merchant = address(uint160(0xA0000 + i));
        Call[] memory calls;
        bool canSucceed = i % 6 != 5;
        if (i % 3 == 0) {
            calls = list(transferCall(merchant, AMOUNT));
        } else {
            calls = list(transferCall(merchant, AMOUNT - 10), transferCall(merchant, 10));
        }
        if (!canSucceed) calls[0] = plainCall(address(shop), "fail()", "");
        Intent memory intent = intentOf(calls);
        intent.recovery = address(uint160(0xB0000 + i));
        intent.expirationTimestamp = uint64(NOW + 500 * (i % 4 + 1));
        intent.chainId = i % 4 == 3 ? 2 : 1;

        Life storage life = lives.push();
        life.terms = abi.encode(intent);
        life.recovery = intent.recovery;
        life.expiry = intent.expirationTimestamp;
        life.chainId = intent.chainId;
        life.vault = factory.addressOf(intent);
        life.merchant = merchant;
        life.canSucceed = canSucceed;
    }

    function _pick(uint256 seed) internal view returns (Life storage) {
        return lives[seed % LIVES];
    }

    function _intent(Life storage life) internal view returns (Intent memory) {
        return abi.decode(life.terms, (Intent));
    }

    function _isOpen(Life storage life) internal view returns (bool) {
        return life.state == State.Open && life.chainId == chain && now_ <= life.expiry;
    }

    /// @dev The balance of the vault in the model.
    function _held(Life storage life) internal view returns (uint256) {
        uint256 spent = life.state == State.Executed ? AMOUNT : 0;
        return life.fundedTotal - spent - life.recoveredTotal;
    }

    function _shouldExecute(Life storage life) internal view returns (bool) {
        return _isOpen(life) && life.canSucceed && _held(life) >= AMOUNT;
    }

    function _fund(uint256 seed, uint256 amount) internal {
        Life storage life = _pick(seed);
        // Funds the vault with the exact amount, one unit less than that, a single unit, or a
        // random amount.
        uint256[4] memory amounts = [AMOUNT, AMOUNT - 1, 1, amount % (2 * AMOUNT)];
        amount = amounts[amount % 4];
        token.mint(life.vault, amount);
        life.fundedTotal += amount;
    }

    function _fundOther(uint256 seed, uint256 amount) internal {
        Life storage life = _pick(seed);
        amount %= 1_000;
        other.mint(life.vault, amount);
        life.otherTotal += amount;
    }

    function _fundCoin(uint256 seed, uint256 amount) internal {
        Life storage life = _pick(seed);
        amount %= 1_000;
        vm.deal(address(this), amount);
        (bool ok,) = life.vault.call{value: amount}("");
        check(ok, "a vault takes coin in every state");
        life.coinTotal += amount;
    }

    /// @dev Often moves the time to an expiration time, or to one second before or after it.
    function _wait(uint256 seed) internal {
        uint256 edge = lives[seed % LIVES].expiry + (seed / LIVES) % 3 - 1;
        if (edge > now_ && seed % 5 != 0) now_ = edge;
        else now_ += seed % 100;
        if (now_ > NOW + 4_000) now_ = NOW;
        vm.warp(now_);
    }

    function _execute(uint256 seed) internal {
        Life storage life = _pick(seed);
        bool should = _shouldExecute(life);
        (bool ok,) = address(factory).call(abi.encodeCall(factory.execute, (_intent(life))));
        check(ok == should, "executes exactly when it should");
        if (ok) life.state = State.Executed;
    }

    function _recover(uint256 seed) internal {
        Life storage life = _pick(seed);
        bool should = !_isOpen(life);
        address[] memory tokens = new address[](3);
        (tokens[0], tokens[1], tokens[2]) = (address(other), NATIVE, address(token));
        (bool ok,) =
            address(factory).call(abi.encodeCall(factory.recover, (_intent(life), tokens)));
        check(ok == should, "recovers exactly when over or closed");
        if (!ok) return;
        if (life.state == State.Open) life.state = State.Recovered;
        life.recoveredTotal += _held(life);
        equal(token.balanceOf(life.vault), 0, "nothing stays");
        equal(other.balanceOf(life.vault), 0, "nothing of the other token");
        equal(life.vault.balance, 0, "no coin");
        equal(other.balanceOf(life.recovery), life.otherTotal, "the other token");
        equal(life.recovery.balance, life.coinTotal, "the coin");
    }

    /// @dev The rules that apply after every action, for every intent.
    function _checkAll() internal view {
        uint256 total;
        for (uint256 i = 0; i < LIVES; ++i) {
            Life storage life = lives[i];
            bool executed = life.state == State.Executed;
            equal(token.balanceOf(life.vault), _held(life), "held as the model says");
            equal(token.balanceOf(life.merchant), executed ? AMOUNT : 0, "paid once, or never");
            equal(token.balanceOf(life.recovery), life.recoveredTotal, "to its own recovery");
            equal(life.vault.code.length, codeBytes[uint256(life.state)], "code tells the state");
            if (life.state == State.Open) {
                equal(life.vault.balance, life.coinTotal, "coin stays while open");
                equal(other.balanceOf(life.vault), life.otherTotal, "the other token stays, too");
            }
            total += life.fundedTotal;
        }
        equal(token.totalSupply(), total, "conserved: every unit is accounted for above");
        equal(token.balanceOf(address(factory)), 0, "the factory holds no token");
        equal(other.balanceOf(address(factory)), 0, "the factory holds no other token");
        equal(address(factory).balance, 0, "the factory holds no coin");
    }
}

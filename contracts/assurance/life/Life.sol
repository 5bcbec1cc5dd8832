// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

// Two models of one vault on one chain, with the checks of src/PaymentFactory.sol and
// src/Vault.sol. solc's model checker checks each model separately. It proves the assertions for
// all intents, all times, and all sequences of calls.

/// @notice A vault is either closed, or executed in time and fully funded. An executed or closed
/// vault never executes again.
/// @dev The vault's balance and the success of its calls are arbitrary.
contract Life {
    uint256 private immutable AMOUNT;
    uint256 private immutable EXPIRY;
    bool private immutable IS_ITS_CHAIN;

    uint256 private time;
    uint256 private codeBytes;

    // These variables record the history of the vault for the assertion in {sound}.
    uint256 private executions;
    bool private allInTimeAndFull = true;
    bool private closed;
    bool private allClosedInTime = true;
    bool private sentToRecovery;

    constructor(uint256 amount, uint256 expiry, bool isItsChain, uint256 start) {
        (AMOUNT, EXPIRY, IS_ITS_CHAIN, time) = (amount, expiry, isItsChain, start);
    }

    function wait(uint256 moment) external {
        require(moment >= time);
        time = moment;
    }

    function execute(uint256 held, bool callsSucceed) external {
        require(codeBytes == 0); // AlreadyOver
        require(IS_ITS_CHAIN); // WrongChain
        require(time <= EXPIRY); // Expired
        require(held >= AMOUNT); // Underfunded
        require(callsSucceed); // CallFailed: undoes all
        allInTimeAndFull = allInTimeAndFull && IS_ITS_CHAIN && time <= EXPIRY && held >= AMOUNT;
        executions += 1;
        codeBytes = 41;
    }

    /// @dev Also models `rescue`, a function that only the recovery address can call.
    function recover() external {
        if (codeBytes == 0) {
            require(!IS_ITS_CHAIN || time > EXPIRY); // NotRecoverable
            allClosedInTime = allClosedInTime && (!IS_ITS_CHAIN || time > EXPIRY);
            closed = true;
            codeBytes = 42;
        }
        sentToRecovery = true;
    }

    /// @dev All properties are in one assertion, so the solver can use each to prove the others.
    function sound() external view {
        bool once = executions == (codeBytes == 41 ? 1 : 0);
        bool closedNeverExecutes = closed == (codeBytes == 42) && allClosedInTime;
        bool untouchedWhileOpen = codeBytes != 0 || !sentToRecovery;
        assert(once && allInTimeAndFull && closedNeverExecutes && untouchedWhileOpen);
    }
}

/// @notice All paid money is in the vault, was spent by the calls, or was sent to `recovery`.
/// @dev Payments and their times are arbitrary, and so are the amounts that calls spend. Balances
/// are of one token without fees or rebases.
contract Money {
    bool private over;
    uint256 private balance;
    uint256 private paid;
    uint256 private spentByCalls;
    uint256 private sentToRecovery;

    function pay(uint256 amount) external {
        paid += amount;
        balance += amount;
    }

    function execute(uint256 spent) external {
        require(!over); // AlreadyOver
        over = true;
        balance -= spent;
        spentByCalls += spent;
    }

    /// @dev The token can move less than the whole balance, or nothing.
    function recover(uint256 sent) external {
        over = true;
        balance -= sent;
        sentToRecovery += sent;
    }

    function accounted() external view {
        assert(paid == balance + spentByCalls + sentToRecovery && (over || balance == paid));
    }
}

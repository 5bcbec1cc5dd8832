// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

// `npm run snapshot` writes this file. All values follow from the factory's creation code.

/// @dev PaymentFactory, at this address on every chain.
address constant FACTORY = 0x00000000b4Ae95D828D2274DCe26cfa9199810De;
/// @dev keccak256 of the code at a vault whose calls ran. The hash is the same on every chain.
bytes32 constant EXECUTED_CODE_HASH =
    0x76787dbd4cf201a1655ade6889aeb3b4f0ec211e67f5a3b4f05ad4ff124e3cd1;
/// @dev keccak256 of the code at a closed vault. The calls of a closed vault can never run.
bytes32 constant CLOSED_CODE_HASH =
    0x1294ad7c9f5dfedf7179ece44f5d55163889fd523614a369f2aa2b25c109c74b;

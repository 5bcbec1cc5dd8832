// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

address constant FACTORY = 0x000000006c55cF3076399FBE90e6437D4BA27F6c;
bytes32 constant EXECUTED_CODE_HASH = 0x506d847b153790621287ddfe5e1f023e3f0cd6e7af7fcecdd7bc7477f14d791c;
bytes32 constant CLOSED_CODE_HASH = 0x506d847b153790621287ddfe5e1f023e3f0cd6e7af7fcecdd7bc7477f14d791d;

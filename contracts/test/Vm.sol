// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @dev The Foundry cheatcodes that these tests use.
interface Vm {
    struct Log {
        bytes32[] topics;
        bytes data;
        address emitter;
    }

    function addr(uint256 privateKey) external returns (address);
    function assume(bool condition) external;
    function chainId(uint256 newChainId) external;
    function deal(address who, uint256 newBalance) external;
    function etch(address who, bytes calldata code) external;
    function envOr(string calldata name, uint256 otherwise) external view returns (uint256);
    function expectEmit(bool, bool, bool, bool, address emitter) external;
    function expectRevert(bytes calldata data) external;
    function getRecordedLogs() external returns (Log[] memory);
    function keyExistsJson(string calldata json, string calldata key) external view returns (bool);
    function parseJsonAddress(string calldata json, string calldata key)
        external
        pure
        returns (address);
    function parseJsonBytes(string calldata json, string calldata key)
        external
        pure
        returns (bytes memory);
    function prank(address sender) external;
    function setEvmVersion(string calldata evm) external;
    function readFile(string calldata path) external view returns (string memory);
    function recordLogs() external;
    function toString(uint256 value) external pure returns (string memory);
    function txGasPrice(uint256 newGasPrice) external;
    function warp(uint256 newTimestamp) external;
}

Vm constant vm = Vm(0x7109709ECfa91a80626fF3989D68f67F5b1DD12D);

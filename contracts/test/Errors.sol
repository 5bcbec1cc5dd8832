// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @dev The factory's errors as functions. Tests encode expected errors with abi.encodeCall, which
/// checks the types of the arguments.
interface Errors {
    function WrongChain(uint256 wanted, uint256 found) external;
    function Expired(uint256 expirationTimestamp, uint256 found) external;
    function NotRecoverable(address vault, uint256 expirationTimestamp, uint256 found) external;
    function AlreadyOver(address vault) external;
    function Underfunded(address vault, uint256 wanted, uint256 found) external;
    function NoCode(uint256 index, address target) external;
    function CallFailed(uint256 index, address target, bytes calldata reason) external;
    function TooLittleGas(uint256 index, address target) external;
    function CreationFailed(address vault) external;
    function NotRecovery(address wanted, address found) external;
    function NotCanonical(uint256 start, uint256 end) external;
    function BalanceUnknown(address token, address vault) external;
    function NotAnItem(bytes4 selector) external;
    function TermsTooLong(uint256 wanted, uint256 found) external;
    function NotVault() external;
    function NotFactory() external;
    function NotMined(address found) external;
}

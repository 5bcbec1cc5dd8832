// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @notice The part of ERC-721 that matters to a vault. `safeMint` calls the receiver if the
/// receiver has code.
contract Nft {
    mapping(uint256 id => address) public ownerOf;

    function safeMint(address to, uint256 id) public {
        ownerOf[id] = to;
        if (to.code.length == 0) return;
        (bool ok, bytes memory answer) = to.call(
            abi.encodeWithSignature(
                "onERC721Received(address,address,uint256,bytes)", msg.sender, address(0), id, ""
            )
        );
        require(ok && answer.length == 32 && bytes4(answer) == 0x150b7a02, "unsafe recipient");
    }

    function safeMintToCaller(uint256 id) external {
        safeMint(msg.sender, id);
    }

    function transferFrom(address from, address to, uint256 id) external {
        require(msg.sender == from && ownerOf[id] == from, "not the owner");
        ownerOf[id] = to;
    }

    /// @dev ERC-721 and ERC-20 both have `balanceOf(address)`, so `recover` can call it on an NFT
    /// contract.
    function balanceOf(address) external pure returns (uint256) {
        return 1;
    }
}

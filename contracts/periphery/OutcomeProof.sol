// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Blockhash} from "@openzeppelin/contracts/utils/Blockhash.sol";
import {Memory} from "@openzeppelin/contracts/utils/Memory.sol";
import {RLP} from "@openzeppelin/contracts/utils/RLP.sol";
import {TrieProof} from "@openzeppelin/contracts/utils/cryptography/TrieProof.sol";
import {Fate, Outcome} from "./Outcome.sol";

/// @notice Reports block hashes of another chain. Examples are a light client, and a contract on an
/// L2 that knows the block hashes of its L1.
interface IBlockHashOracle {
    /// @return hash zero if the hash is not known
    function blockHash(uint256 blockNumber) external view returns (bytes32 hash);
}

/// @title OutcomeProof
/// @notice Proves the outcome of an intent with a block of the intent's chain. So a contract on one
/// chain can wait for an intent on another chain. The proof is the block's header as RLP, and the
/// vault's account proof from `eth_getProof` (EIP-1186).
/// @dev The contract can prove only that a vault was executed or closed. For any other vault, a
/// call returns `Never` if the vault's account exists. The account exists, for example, if the
/// vault has a coin balance. If the account does not exist, the call reverts. The contract has no
/// owner and no storage. The contract can be replaced, because the caller chooses which contract to
/// call.
contract OutcomeProof {
    using RLP for *;

    uint256 private constant STATE_ROOT = 3;
    uint256 private constant NUMBER = 8;
    uint256 private constant TIMESTAMP = 11;
    /// @dev Block headers have had at least this number of fields since the first block. Additional
    /// fields are ignored.
    uint256 private constant HEADER_FIELDS_MIN = 15;
    uint256 private constant ACCOUNT_FIELDS = 4;
    uint256 private constant CODE_HASH = 3;

    struct Proven {
        Fate fate;
        uint256 blockNumber;
        uint256 blockTime;
    }

    error WrongHeader(bytes32 wanted, bytes32 found);
    error MalformedHeader(uint256 least, uint256 found);
    error MalformedAccount(uint256 wanted, uint256 found);
    /// @notice The chain or the oracle does not know the hash of the block, or has forgotten it.
    error BlockHashUnknown(uint256 blockNumber);

    /// @notice Returns the outcome of the intent at `vault`, proved with a block of this chain.
    /// @dev Accepts the previous 256 blocks, or 8,191 blocks on a chain with EIP-2935.
    function proveHere(address vault, bytes calldata header, bytes[] calldata proof)
        external
        view
        returns (Proven memory)
    {
        uint256 number = _numberOf(header);
        return prove(vault, header, proof, _known(number, Blockhash.blockHash(number)));
    }

    /// @notice Returns the outcome of the intent at `vault`, proved with a block that `oracle`
    /// knows.
    /// @dev The caller chooses the oracle. The result is only as reliable as the oracle. Only the
    /// oracle knows to which chain its blocks belong.
    function proveBy(
        IBlockHashOracle oracle,
        address vault,
        bytes calldata header,
        bytes[] calldata proof
    ) external view returns (Proven memory) {
        uint256 number = _numberOf(header);
        return prove(vault, header, proof, _known(number, oracle.blockHash(number)));
    }

    /// @notice Returns the outcome of the intent at `vault`, proved with the block `blockHash`.
    /// @dev The caller must trust the hash, because the function does not check that the block
    /// exists.
    /// @param proof the nodes of the state trie from its root to the account, each as RLP
    function prove(address vault, bytes calldata header, bytes[] calldata proof, bytes32 blockHash)
        public
        pure
        returns (Proven memory)
    {
        if (keccak256(header) != blockHash) revert WrongHeader(blockHash, keccak256(header));
        Memory.Slice[] memory fields = _fieldsOf(header);
        bytes memory key = abi.encodePacked(keccak256(abi.encodePacked(vault)));
        bytes memory value = TrieProof.traverse(fields[STATE_ROOT].readBytes32(), key, proof);
        Memory.Slice[] memory account = value.decodeList();
        if (account.length != ACCOUNT_FIELDS) {
            revert MalformedAccount(ACCOUNT_FIELDS, account.length);
        }
        Fate fate = Outcome.fateOf(account[CODE_HASH].readBytes32());
        return Proven(fate, fields[NUMBER].readUint256(), fields[TIMESTAMP].readUint256());
    }

    function _numberOf(bytes calldata header) private pure returns (uint256) {
        return _fieldsOf(header)[NUMBER].readUint256();
    }

    function _fieldsOf(bytes memory header) private pure returns (Memory.Slice[] memory fields) {
        fields = header.decodeList();
        if (fields.length < HEADER_FIELDS_MIN) {
            revert MalformedHeader(HEADER_FIELDS_MIN, fields.length);
        }
    }

    function _known(uint256 number, bytes32 hash) private pure returns (bytes32) {
        if (hash == 0) revert BlockHashUnknown(number);
        return hash;
    }
}

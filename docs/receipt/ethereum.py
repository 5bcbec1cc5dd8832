# What pip has as pycryptodome, rlp and trie, by the standard library alone: Keccak-256 (sha3_256 pads
# otherwise), RLP, and proofs in a Merkle-Patricia trie.
def rotate(x, n):
    return (x << n % 64 | x >> 64 - n % 64) & 2**64 - 1


def keccak(data):
    s = [[0] * 5 for _ in range(5)]
    data = bytearray(data + b"\1" + bytes(135 - len(data) % 136))
    data[-1] |= 128
    for at in range(0, len(data), 136):
        for i in range(17):
            s[i % 5][i // 5] ^= int.from_bytes(data[at + 8 * i : at + 8 * i + 8], "little")
        bits = 1
        for _ in range(24):
            c = [x[0] ^ x[1] ^ x[2] ^ x[3] ^ x[4] for x in s]
            s = [[v ^ c[x - 1] ^ rotate(c[(x + 1) % 5], 1) for v in s[x]] for x in range(5)]
            x, y, moved = 1, 0, s[1][0]
            for i in range(24):
                x, y = y, (2 * x + 3 * y) % 5
                s[x][y], moved = rotate(moved, (i + 1) * (i + 2) // 2), s[x][y]
            s = [
                [s[x][y] ^ ~s[(x + 1) % 5][y] & s[(x + 2) % 5][y] for y in range(5)]
                for x in range(5)
            ]
            for j in range(7):
                bits = bits << 1 ^ (bits >> 7) * 369
                s[0][0] ^= (bits >> 1 & 1) << (1 << j) - 1
    return b"".join(s[i][0].to_bytes(8, "little") for i in range(4))


def unhex(text):
    return bytes.fromhex(text[2:])


def number(data):
    return int.from_bytes(data, "big")


def rlp(data):
    """The first item, and what is behind it."""
    if data[0] < 128:
        return data[:1], data[1:]
    n, at = data[0] - (192 if data[0] > 191 else 128), 1
    if n > 55:
        n, at = number(data[1 : n - 54]), n - 54
    body, rest, items = data[at : at + n], data[at + n :], []
    assert len(body) == n, "RLP is cut"
    if data[0] < 192:
        return body, rest
    while body:
        item, body = rlp(body)
        items.append(item)
    return items, rest


def index_key(index):
    """The RLP of a place in a block, which is its key in the trie."""
    raw = index.to_bytes((index.bit_length() + 7) // 8, "big")
    return raw if 0 < index < 128 else bytes([128 + len(raw)]) + raw


def find(root, key, nodes):
    """The value at `key`, or None where the nodes show that there is none."""
    path = key.hex()
    for data in nodes:
        assert keccak(data) == root, "a node is not of the trie"
        node = rlp(data)[0]
        is_branch = len(node) == 17
        part = path[0] if is_branch else node[0].hex()[2 - (node[0][0] >> 4 & 1) :]
        root = node[int(path[0], 16)] if is_branch else node[1]
        if not path.startswith(part) or root == b"":
            return None
        path = path[len(part) :]
        if not is_branch and node[0][0] & 32:
            return root
    raise AssertionError("the way down the trie is cut")
